/** What tests of extensions import as `voice-note-transcription-service/testing` (docs/extending.md). */
export { ApiClient, type Credentials } from '../testing/api-client.js';
export { eventually } from '../testing/eventually.js';
export { migrationProblems } from '../testing/migration-rules.js';
export { SPEECH, speech } from '../testing/speech.js';
export { TestEnvironment, useEnvironment } from '../testing/test-environment.js';
export { startService, TestService, useService } from '../testing/test-service.js';
export { type Answer, type ReceivedRequest, signatureProblems, WebhookReceiver } from '../testing/webhook-receiver.js';
