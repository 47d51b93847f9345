// The built service, which appends to live recordings as its parent says, and tells it what was acknowledged.
import { Inject, Injectable, Module } from '@nestjs/common';
import { runService } from '../../../dist/commands/serve.js';
import { LiveModule } from '../../../dist/modules/live/live.module.js';
import { LiveRecordingsService } from '../../../dist/modules/live/live-recordings.service.js';

class LiveWriter {
  constructor(live) {
    process.on('message', ({ accountId, recordingId, audio }) => {
      void this.write(live, accountId, recordingId, Buffer.from(audio, 'base64')).catch((error) =>
        process.send({ error: String(error) }),
      );
    });
  }

  /** From where the recording is, to the end of the audio: in parts of 100 ms. */
  async write(live, accountId, recordingId, audio) {
    let { storedBytes } = await live.resume(accountId, recordingId);
    process.send({ storedBytes });
    while (storedBytes < audio.length) {
      storedBytes = await live.append(recordingId, storedBytes, audio.subarray(storedBytes, storedBytes + 3200));
      process.send({ storedBytes });
    }
  }
}
Injectable()(LiveWriter);
Inject(LiveRecordingsService)(LiveWriter, undefined, 0);

class LiveWriterModule {}
Module({ imports: [LiveModule], providers: [LiveWriter] })(LiveWriterModule);

await runService([{ module: LiveWriterModule }]);
