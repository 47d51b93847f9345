import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AudioDownloadController } from './audio-download/audio-download.controller.js';
import { AudioDownloadService } from './audio-download/audio-download.service.js';
import { AudioUrlsService } from './audio-download/audio-urls.service.js';
import { GrowingUploadsService } from './upload/growing-uploads.service.js';
import { UploadRequestsService } from './upload/upload-requests.service.js';
import { UploadService } from './upload/upload.service.js';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { FetchedAudioService } from './links/fetched-audio.service.js';
import { LinkFetcherService } from './links/link-fetcher.service.js';
import { LinksProcessor } from './links/links.processor.js';
import { RecordingLink } from './links/recording-link.entity.js';
import { LINK_QUEUE, RecordingLinksService } from './links/recording-links.service.js';
import { RecordingErasureService } from './recording-erasure.service.js';
import { RecordingInclusionsService } from './recording-inclusions.service.js';
import { RecordingLeasesService } from './leases/recording-leases.service.js';
import { RecordingQueueMetricsService } from './leases/recording-queue-metrics.service.js';
import { QuotaMetricsService } from './quota-metrics.service.js';
import { QuotasService } from './quotas.service.js';
import { RecordingSearchService } from './search/recording-search.service.js';
import { SearchBackfillService } from './search/search-backfill.service.js';
import { SearchBackfill, SearchDocument } from './search/search.entities.js';
import { TranscriptionShare } from './leases/transcription-share.entity.js';
import { Recording } from './recording.entity.js';
import { HoldsController } from './retention/holds.controller.js';
import { RetentionService } from './retention/retention.service.js';
import { RecordingsController } from './recordings.controller.js';
import { RecordingsReconciler } from './recordings.reconciler.js';
import { RecordingsService } from './recordings.service.js';
import { Share } from './shares/share.entity.js';
import { SharedRecordingsController, SharesController } from './shares/shares.controller.js';
import { SharesService } from './shares/shares.service.js';
import { TranscribeAgainController } from './transcribe-again.controller.js';
import { TranscribeAgainService } from './transcribe-again.service.js';
import { Waveform } from './waveform/waveform.entity.js';
import { WaveformsController } from './waveform/waveforms.controller.js';
import { WaveformsService } from './waveform/waveforms.service.js';
import { UsageService } from './usage-counters/usage.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([
      Recording,
      RecordingLink,
      SearchBackfill,
      SearchDocument,
      Share,
      TranscriptionShare,
      Waveform,
    ]),
    JobQueueModule.register(LINK_QUEUE),
  ],
  controllers: [
    RecordingsController,
    TranscribeAgainController,
    AudioDownloadController,
    WaveformsController,
    HoldsController,
    SharesController,
    SharedRecordingsController,
  ],
  providers: [
    RecordingsService,
    UsageService,
    UploadService,
    AudioDownloadService,
    AudioUrlsService,
    UploadRequestsService,
    GrowingUploadsService,
    QuotasService,
    RecordingLeasesService,
    RecordingQueueMetricsService,
    RecordingErasureService,
    RecordingSearchService,
    SearchBackfillService,
    TranscribeAgainService,
    RecordingsReconciler,
    RecordingInclusionsService,
    WaveformsService,
    RecordingLinksService,
    RetentionService,
    SharesService,
  ],
  exports: [
    RetentionService,
    JobQueueModule,
    RecordingLinksService,
    RecordingInclusionsService,
    RecordingsService,
    UploadRequestsService,
    GrowingUploadsService,
    UsageService,
    QuotasService,
    RecordingLeasesService,
    RecordingErasureService,
    RecordingSearchService,
    SearchBackfillService,
  ],
})
export class RecordingsModule {}

/** What only a process with the role `deliverer` runs: it may reach the network and runs the reconciler. */
@Module({
  imports: [RecordingsModule, TypeOrmModule.forFeature([Recording])],
  providers: [LinkFetcherService, FetchedAudioService, LinksProcessor, QuotaMetricsService],
})
export class LinkWorkerModule {}
