/** What the service answers, by the names of the resources. Times are UTC without a zone: `2026-11-21T10:15:04`. */
import type {
  CreateAccessTokenDto,
  NameSpeakersDto,
  RecordingsListData,
  SpeakersView,
  TranscriptionView,
} from './api/types.gen.js';

export type {
  AccountSpeakersDto as NewAccountSpeakers,
  AccountSpeakersView as AccountSpeakers,
  AccountView as Account,
  ApiKeyPage,
  ApiKeyView as ApiKey,
  AttemptView as DeliveryAttempt,
  AudioUrlView as AudioUrl,
  CorrectTranscriptionDto as Correction,
  CreateApiKeyDto as NewApiKey,
  CreateShareDto as ShareFields,
  CreateWebhookDto as NewWebhook,
  CreatedAccessTokenView as AccessToken,
  CreatedSignInCodeView as SignInCode,
  CreatedApiKeyView as CreatedApiKey,
  CreatedShareView as CreatedShare,
  CallbackView as Callback,
  CreatedWebhookView as CreatedWebhook,
  DeliveryPage,
  DeliveryView as Delivery,
  ErasedUserView as ErasedUser,
  EventTypeView as EventType,
  ExchangedKeyView as ExchangedKey,
  HoldView as Hold,
  InvitationPage,
  InvitationView as Invitation,
  MemberPage,
  MemberView as Member,
  OpenedInvitationView as OpenedInvitation,
  CreatedInvitationView as CreatedInvitation,
  CreatedSignInLinkView as SignInLink,
  QuotaView as Quota,
  QuotasView as Quotas,
  RecordingDetailsView as RecordingDetails,
  RecordingPage,
  RecordingRetentionView as RecordingRetention,
  RecordingView as Recording,
  RequestErrorView as AccountError,
  RequestErrorsView as AccountErrors,
  RedeliverDto as RedeliveryFilter,
  RedeliveryView as Redelivery,
  RetentionDto as NewRetention,
  RetentionView as Retention,
  SessionPage,
  SessionView as Session,
  SharePage,
  ShareView as Share,
  SharedRecordingView as SharedRecording,
  SingleApiKeyView as ApiKeyDetails,
  SingleDeliveryView as DeliveryDetails,
  SpeakerView as Speaker,
  TestCallView as TestCall,
  TitledRecordingView as TitledRecording,
  TranscribeAgainDto as TranscribeAgainFields,
  TranscriptionVersionPage,
  TranscriptionVersionView as TranscriptionVersion,
  UpcomingDeletionView as UpcomingDeletion,
  UpcomingDeletionsView as UpcomingDeletions,
  UpdateWebhookDto as WebhookUpdate,
  UsageItemView as UsageItem,
  UsageReportView as UsageReport,
  VocabularyView as Vocabulary,
  WaveformView as Waveform,
  WebhookPage,
  WebhookView as Webhook,
} from './api/types.gen.js';

/** For whom an access token is made, and for how long. */
export type NewAccessToken = CreateAccessTokenDto;

/** The speakers of a recording with the tag of what was read, for a change that overwrites nobody else's. */
export type Speakers = SpeakersView & { etag: string | null };

/** Labels of speakers, and what to call them. */
export type SpeakerNames = NameSpeakersDto['speakers'];

/** Filters of the list of recordings: status, days, tags, end user and words. */
export type RecordingFilter = NonNullable<RecordingsListData['query']>;

/** A transcription with the tag of what was read, for a correction that overwrites nobody else's. */
export type Transcription = TranscriptionView & {
  etag: string | null;
  /** Whether a person has corrected the text. */
  version: 'original' | 'corrected';
};
