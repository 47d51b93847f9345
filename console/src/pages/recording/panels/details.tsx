import type { Recording, RecordingRetention, Transcription } from 'vnotes';
import { Link } from 'wouter-preact';

import { CopyButton } from '../../../components/copy-button';
import { Fact } from '../../../components/fact';
import { formatBytes } from '../../../format/bytes';
import { formatDate } from '../../../format/date';
import { formatDuration } from '../../../format/duration';
import { languageTitle } from '../../../format/languages';
import { locale } from '../../../language/language';
import { type Text, t } from '../../../language/texts';
import type { Note } from '../note';
import { Versions } from './versions';
import './details.css';

/** Where there is room beside the text, it is open at first. */
const IS_WIDE = '(width >= 72rem)';

const SOURCES: Record<string, Text> = { api: 'API', console: 'Console', access_token: 'End user' };

export function Details({ note }: { note: Note }) {
  const recording = note.recording.value as Recording;
  const transcription = note.transcription.value;
  return (
    <aside class="details-column" aria-label={t('About this recording')}>
      <details class="card details" open={matchMedia(IS_WIDE).matches}>
        <summary>{t('Details')}</summary>
        <div class="details-body">
          <Tags recording={recording} />
          <dl class="facts">
            <AudioFacts recording={recording} />
            {transcription && <TextFacts transcription={transcription} />}
            <TimeFacts recording={recording} />
            {note.retention.value && <RetentionFacts retention={note.retention.value} />}
          </dl>
          <div class="details-id">
            <code>{recording.id}</code>
            <CopyButton text={recording.id} label={t('Copy ID')} iconOnly />
          </div>
        </div>
      </details>
      {recording.status === 'transcribed' && <Versions note={note} />}
    </aside>
  );
}

function AudioFacts({ recording }: { recording: Recording }) {
  const { sample_rate, channels, audio_codec, audio_format } = recording;
  const codec = audio_codec && audio_codec !== audio_format ? ` (${audio_codec})` : '';
  return (
    <>
      <Fact name="Length">{formatDuration(recording.duration_seconds)}</Fact>
      <Fact name="Format">{`${audio_format.toUpperCase()}${codec}`}</Fact>
      <Fact name="Size">{formatBytes(recording.file_size_bytes)}</Fact>
      {sample_rate !== null && <Fact name="Audio">{soundOf(sample_rate / 1000, channels)}</Fact>}
    </>
  );
}

function soundOf(rate: number, channels: number | null): string {
  const kilohertz = `${rate} kHz`;
  if (!channels) return kilohertz;
  if (channels === 1) return t('{kilohertz}, mono', { kilohertz });
  return channels === 2
    ? t('{kilohertz}, stereo', { kilohertz })
    : t('{kilohertz}, {channels} channels', { kilohertz, channels });
}

function TextFacts({ transcription }: { transcription: Transcription }) {
  const { language, provider, model, confidence, processing_duration_ms } = transcription;
  return (
    <>
      <Fact name="Language">{languageTitle(language)}</Fact>
      <Fact name="Engine">{provider}</Fact>
      <Fact name="Model">{model}</Fact>
      <Fact name="Confidence">{Math.round(confidence * 100)}%</Fact>
      <Fact name="Processing time">
        {(processing_duration_ms / 1000).toLocaleString(locale.value, { maximumFractionDigits: 1 })} s
      </Fact>
    </>
  );
}

function TimeFacts({ recording }: { recording: Recording }) {
  return (
    <>
      <Fact name="Uploaded">{formatDate(recording.created_at)}</Fact>
      {recording.processed_at && <Fact name="Finished">{formatDate(recording.processed_at)}</Fact>}
      <Fact name="Source">{sourceOf(recording.upload_source)}</Fact>
      {recording.user_id !== null && <Fact name="End user">{recording.user_id}</Fact>}
    </>
  );
}

function sourceOf(source: string): string {
  const name = SOURCES[source];
  return name ? t(name) : source;
}

/** Only what was or is to be deleted. */
function RetentionFacts({ retention }: { retention: RecordingRetention }) {
  const { audio_deleted_at, audio_expires_at, text_expires_at, delete_audio_after, hold } = retention;
  const isLater = audio_expires_at !== null && audio_expires_at !== text_expires_at;
  return (
    <>
      {audio_deleted_at !== null && <Fact name="Audio deleted">{formatDate(audio_deleted_at)}</Fact>}
      {audio_deleted_at === null && delete_audio_after && (
        <Fact name="Audio">{t('Is deleted after the transcription')}</Fact>
      )}
      {audio_deleted_at === null && !delete_audio_after && isLater && (
        <Fact name="Audio is deleted">{formatDate(audio_expires_at)}</Fact>
      )}
      {text_expires_at !== null && <Fact name="Is deleted">{formatDate(text_expires_at)}</Fact>}
      {hold && <Fact name="On hold">{hold.reason}</Fact>}
    </>
  );
}

/** Each leads to the recordings with the same tag. */
function Tags({ recording }: { recording: Recording }) {
  const tags = Object.entries((recording.custom_tags ?? {}) as Record<string, string>);
  if (tags.length === 0) return null;
  return (
    <ul class="details-tags" aria-label={t('Tags')}>
      {tags.map(([key, value]) => (
        <li key={key}>
          <Link class="details-tag" href={`/?${new URLSearchParams({ tag: `${key}=${value}` })}`}>
            <span class="muted">{key}</span> <bdi>{value}</bdi>
          </Link>
        </li>
      ))}
    </ul>
  );
}
