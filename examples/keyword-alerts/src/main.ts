import { runService } from 'voice-note-transcription-service';
import { keywordAlerts } from './extension.js';

await runService([keywordAlerts]);
