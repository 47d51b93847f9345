import { runAdmin } from 'voice-note-transcription-service';
import { keywordAlerts } from './extension.js';

await runAdmin([keywordAlerts]);
