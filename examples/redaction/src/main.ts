import { runService } from 'voice-note-transcription-service';
import { redaction } from './extension.js';

await runService([redaction]);
