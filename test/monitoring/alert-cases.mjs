/**
 * For each alert of docker/monitoring/rules.yaml: samples with which it fires, and samples close to them with which it does
 * not. `at` is when it is looked at. Samples are written as promtool does: start+step x count. One comes every minute and the
 * rules are evaluated as often; in `slow` cases, which are about days, it is every two and every twenty minutes.
 * @typedef {Record<string, string>} Series samples by metric with labels
 * @typedef {{ at: string, series: Series, slow?: boolean }} Case
 * @type {Record<string, { fires: Case[], quiet: Case[] }>}
 */
export const ALERT_CASES = {};

const HOUR = 60;
const DAY = 24 * HOUR;

/** Minutes between two samples of a service level. */
const STEP = 2;

/** So many events in each step, for some minutes, and then others. */
const parts = (pairs) => {
  let total = 0;
  return pairs
    .map(([each, duration], i) => {
      const minutes = duration / STEP;
      const from = total;
      total += each * minutes;
      // Every part but the first begins one step after the end of the one before.
      return i === 0 ? `${from}+${each}x${minutes}` : `${from + each}+${each}x${minutes - 1}`;
    })
    .join(' ');
};

const route = (status) =>
  `http_request_duration_seconds_count{method="POST",route="/v1/recordings",status="${status}"}`;
/** Series of a service level in which of each 1000 events so many are bad, for so many minutes at a time. */
const LEVELS = {
  Upload: (steps) => ({
    [route(201)]: parts(steps.map(([bad, minutes]) => [1000 - bad, minutes])),
    [route(503)]: parts(steps),
    // A fault of the client is none of the service.
    [route(400)]: parts(steps.map(([, minutes]) => [5000, minutes])),
  }),
  Text: (steps) => ({
    'transcriptions_total{plan="pro",engine="sherpa"}': parts(steps.map(([, minutes]) => [1000, minutes])),
    'transcriptions_on_time_total{plan="pro",engine="sherpa"}': parts(
      steps.map(([bad, minutes]) => [1000 - bad, minutes]),
    ),
  }),
  Delivery: (steps) => ({
    webhook_first_attempts_total: parts(steps.map(([, minutes]) => [1000, minutes])),
    webhook_first_attempts_on_time_total: parts(steps.map(([bad, minutes]) => [1000 - bad, minutes])),
  }),
};

for (const [name, seriesOf] of Object.entries(LEVELS)) {
  /** Bad events of a thousand that use the budget up exactly in its 30 days. */
  const budget = name === 'Upload' ? 1 : 10;
  const of = (at, ...steps) => ({ at, series: seriesOf(steps), slow: true });
  ALERT_CASES[`${name}BudgetFast`] = {
    fires: [of('3h', [15 * budget, 3 * HOUR]), of('8h', [7 * budget, 8 * HOUR])],
    quiet: [of('8h', [5 * budget, 8 * HOUR]), of('3h', [20 * budget, 2 * HOUR], [0, HOUR])],
  };
  ALERT_CASES[`${name}BudgetSlow`] = {
    fires: [of('26h', [4 * budget, 26 * HOUR]), of('74h', [2 * budget, 3 * DAY + 2 * HOUR])],
    quiet: [of('26h', [0, 26 * HOUR]), of('40h', [4 * budget, 20 * HOUR], [0, 20 * HOUR])],
  };
}
ALERT_CASES.UploadBudgetFast.quiet.push({
  at: '1h',
  // One of the few uploads of a night.
  series: { [route(201)]: '0+0x20 1+0x100', [route(503)]: '0+0x20 1+0x100' },
});

const gauge = (series, value, minutes = 60) => ({ [series]: `${value}+0x${minutes}` });
const simple = (fires, quiet, at = '30m') => ({
  fires: fires.map((series) => ({ at, series })),
  quiet: quiet.map((series) => ({ at, series })),
});

Object.assign(ALERT_CASES, {
  RecordingsUnprocessed: simple(
    [
      {
        ...gauge('recordings_unprocessed_seconds{plan="free"}', 3700),
        ...gauge('recordings_unprocessed_seconds{plan="pro"}', 0),
      },
    ],
    [
      gauge('recordings_unprocessed_seconds{plan="free"}', 3500),
      { 'recordings_unprocessed_seconds{plan="free"}': '0+0x24 3700+0x5 0+0x30' },
    ],
  ),
  DeliveriesWaiting: simple(
    [
      {
        ...gauge('deliveries_waiting_seconds{instance="a"}', 301),
        ...gauge('deliveries_waiting_seconds{instance="b"}', 299),
      },
    ],
    [gauge('deliveries_waiting_seconds', 299), { deliveries_waiting_seconds: '0+0x26 400+0x30' }],
  ),
  QueueStalled: simple(
    [{ ...gauge('recordings_waiting_seconds', 130), ...gauge('transcription_recordings{instance="a"}', 0) }],
    [
      {
        ...gauge('recordings_waiting_seconds', 130),
        ...gauge('transcription_recordings{instance="a"}', 0),
        ...gauge('transcription_recordings{instance="b"}', 1),
      },
      { ...gauge('recordings_waiting_seconds', 110), ...gauge('transcription_recordings{instance="a"}', 0) },
    ],
  ),
  NoTranscriber: simple(
    [gauge('recordings_waiting', 0), { transcription_recordings: '0+0x10 stale' }],
    [gauge('transcription_recordings', 0)],
  ),
  TranscribersNotReady: simple(
    [
      {
        ...gauge('health_check{check="engine",instance="a"}', 0),
        ...gauge('health_check{check="engine",instance="b"}', 0),
      },
    ],
    [
      {
        ...gauge('health_check{check="engine",instance="a"}', 0),
        ...gauge('health_check{check="engine",instance="b"}', 1),
      },
      gauge('health_check{check="redis"}', 0),
    ],
  ),
  RecordingsWithoutEngine: simple(
    [gauge('recordings_waiting_for_engine', 1)],
    [gauge('recordings_waiting_for_engine', 0)],
  ),
  EngineSetAside: simple(
    [gauge('transcription_engine_set_aside{engine="openai"}', 1)],
    [
      gauge('transcription_engine_set_aside{engine="openai"}', 0),
      { 'transcription_engine_set_aside{engine="openai"}': '1+0x14 0+0x30' },
    ],
  ),
  LiveRecordingsNotStored: simple(
    [gauge('live_recordings_waiting_seconds', 301)],
    [gauge('live_recordings_waiting_seconds', 299)],
  ),
  ReconcilerStopped: simple(
    [
      {
        'reconciler_last_round_timestamp_seconds{instance="a"}': '0+60x10 600+0x60',
        'reconciler_last_round_timestamp_seconds{instance="b"}': '0+60x5 300+0x60',
      },
      gauge('recordings_waiting', 0),
    ],
    [
      {
        'reconciler_last_round_timestamp_seconds{instance="a"}': '0+0x60',
        'reconciler_last_round_timestamp_seconds{instance="b"}': '0+60x60',
      },
    ],
  ),
  ReconcilerTaskFailing: simple(
    [{ 'reconciler_task_failures_total{task="remove objects"}': '0+1x60' }],
    [{ 'reconciler_task_failures_total{task="remove objects"}': '0+0.5x60' }],
    '40m',
  ),
  RepairsFrequent: simple(
    [{ 'repairs_total{kind="recording_taken_over"}': '0+1x60' }],
    [
      { 'repairs_total{kind="recording_taken_over"}': '0+0.3x60' },
      { 'repairs_total{kind="spool_file_abandoned"}': '0+5x60' },
    ],
  ),
  StorageFillingUp: simple(
    [
      { ...gauge('storage_free_bytes', 14), ...gauge('storage_size_bytes', 100) },
      { storage_free_bytes: '29.5-0.05x60', ...gauge('storage_size_bytes', 100) },
    ],
    [
      { ...gauge('storage_free_bytes', 16), ...gauge('storage_size_bytes', 100) },
      { storage_free_bytes: '90-0.2x60', ...gauge('storage_size_bytes', 100) },
    ],
  ),
  StorageAlmostFull: simple(
    [
      { ...gauge('storage_free_bytes', 4), ...gauge('storage_size_bytes', 100) },
      { 'quota_refusals_total{quota="free_disk"}': '0+1x60' },
    ],
    [
      { ...gauge('storage_free_bytes', 6), ...gauge('storage_size_bytes', 100) },
      { 'quota_refusals_total{quota="stored_bytes"}': '0+1x60' },
    ],
  ),
  PostgresUnreachable: simple(
    [
      {
        ...gauge('health_check{check="postgres",instance="a"}', 0),
        ...gauge('health_check{check="postgres",instance="b"}', 1),
      },
    ],
    [
      gauge('health_check{check="postgres",instance="a"}', 1),
      { 'health_check{check="postgres",instance="a"}': '1+0x28 0+0x0 1+0x30' },
    ],
  ),
  RedisUnreachable: simple(
    [gauge('health_check{check="redis",instance="a"}', 0)],
    [
      gauge('health_check{check="redis",instance="a"}', 1),
      { 'health_check{check="redis",instance="a"}': '1+0x26 0+0x30' },
    ],
  ),
  StorageUnreachable: simple(
    [gauge('health_check{check="storage",instance="a"}', 0)],
    [gauge('health_check{check="storage",instance="a"}', 1)],
  ),
  KmsUnreachable: simple(
    [gauge('health_check{check="keys",instance="a"}', 0)],
    // It is listed only while there is a problem.
    [gauge('health_check{check="storage",instance="a"}', 1)],
  ),
  EgressProxyFailing: simple(
    [{ 'egress_proxy_failures_total{instance="a",failure="silent"}': '0+5x60' }],
    // A failure that lasted for a moment.
    [{ 'egress_proxy_failures_total{instance="a",failure="silent"}': '0+0x20 5+0x40' }],
  ),
  DatabasePoolExhausted: simple(
    [gauge('database_connection_waiters{instance="a"}', 3)],
    [
      {
        'database_connection_waiters{instance="a"}':
          '3+0x3 0+0x0 3+0x3 0+0x0 3+0x3 0+0x0 3+0x3 0+0x0 3+0x3 0+0x0 3+0x3 0+0x0 3+0x3 0+0x0',
      },
    ],
  ),
  ProcessDown: simple(
    [gauge('up{job="voice-notes",instance="a"}', 0)],
    [gauge('up{job="voice-notes",instance="a"}', 1), gauge('up{job="another"}', 0)],
  ),
  EventLoopBlocked: simple(
    [gauge('nodejs_eventloop_lag_p99_seconds', 1.1)],
    [gauge('nodejs_eventloop_lag_p99_seconds', 0.9)],
  ),
  BackupTooOld: simple(
    [{ ...gauge('backup_last_success_timestamp_seconds', -129_601) }],
    [{ ...gauge('backup_last_success_timestamp_seconds', -126_000) }, gauge('recordings_waiting', 0)],
  ),
  ErasuresNotWritten: simple(
    [gauge('backup_unwritten_erasure_seconds', 601)],
    [gauge('backup_unwritten_erasure_seconds', 599)],
  ),
  AuditSealBehind: simple([gauge('audit_unsealed_seconds', 601)], [gauge('audit_unsealed_seconds', 599)]),
});
