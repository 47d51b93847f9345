import { runAdmin } from 'voice-note-transcription-service';
import { redaction } from './extension.js';

await runAdmin([redaction]);
