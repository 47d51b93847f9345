import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { Extension } from '../../../src/extension.js';
import { AudioTranscriptionsService } from '../../../src/modules/compat/audio-transcriptions.service.js';
import { RecordingLeasesService } from '../../../src/modules/recordings/leases/recording-leases.service.js';
import { RecordingsModule } from '../../../src/modules/recordings/recordings.module.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import { finishAs } from '../state/recording-states.js';

/** Transcribes the notes of the compatible endpoint (D45) in a service with ROLES=api, where nobody else does. */
@Injectable()
class InstantTranscriber implements OnModuleInit {
  constructor(
    private readonly modules: ModuleRef,
    private readonly database: DatabaseService,
    private readonly leases: RecordingLeasesService,
  ) {}

  onModuleInit(): void {
    const notes = this.modules.get(AudioTranscriptionsService, { strict: false });
    const accept = notes.accept.bind(notes);
    notes.accept = async (...given) => {
      const note = await accept(...given);
      await finishAs(this.database, this.leases, note.recordingId);
      return note;
    };
  }
}

@Module({ imports: [RecordingsModule], providers: [InstantTranscriber] })
class InstantTranscriberModule {}

export const transcribesAtOnce: Extension = { module: InstantTranscriberModule };
