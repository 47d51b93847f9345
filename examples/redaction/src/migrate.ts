import { runMigrate } from 'voice-note-transcription-service';
import { redaction } from './extension.js';

await runMigrate([redaction]);
