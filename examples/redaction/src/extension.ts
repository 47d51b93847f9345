import { Module } from '@nestjs/common';
import type { Extension } from 'voice-note-transcription-service';
import { redact } from './redact.js';

@Module({})
class RedactionModule {}

/** All that this package adds to the service. */
export const redaction: Extension = { module: RedactionModule, transcriptFilters: [redact] };
