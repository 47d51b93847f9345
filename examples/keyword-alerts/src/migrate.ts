import { runMigrate } from 'voice-note-transcription-service';
import { keywordAlerts } from './extension.js';

await runMigrate([keywordAlerts]);
