import { ApiProperty } from '@nestjs/swagger';
import {
  type EventKind,
  eventTime,
  PageFields,
  pageFields,
  type PageResult,
  resourceTime,
} from 'voice-note-transcription-service';
import type { KeywordAlert } from './keyword-alert.entity.js';
import type { ListKeywordAlertsQuery } from './keyword-alerts.dto.js';

export class KeywordAlertView {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  recording_id: string;

  @ApiProperty({ example: 'invoice' })
  keyword: string;

  /** Seconds from the start of the recording. */
  @ApiProperty({ example: 0.81 })
  said_at: number;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '/v1/recordings/019aa5c2-3b4c-7d5e-9f60-718293a4b5c6' })
  recording_uri: string;
}

export class KeywordAlertPage extends PageFields {
  @ApiProperty({ type: [KeywordAlertView] })
  keyword_alerts: KeywordAlertView[];
}

export function presentKeywordAlertPage(
  query: ListKeywordAlertsQuery,
  found: PageResult<KeywordAlert>,
): KeywordAlertPage {
  return {
    keyword_alerts: found.items.map(presentKeywordAlert),
    ...pageFields('/v1/keyword-alerts', query, found),
  };
}

/** For `GET /v1/event-types` and `/openapi.json`. */
export const KEYWORD_MATCHED: EventKind = {
  kind: 'keyword.matched',
  description: 'A keyword was said in a recording.',
  schema: {
    required: ['event', 'timestamp', 'recording', 'keywords'],
    properties: {
      event: { type: 'string' },
      timestamp: { type: 'string' },
      recording: { type: 'object', required: ['id'], properties: { id: { type: 'string', format: 'uuid' } } },
      keywords: {
        type: 'array',
        items: {
          type: 'object',
          required: ['keyword', 'said_at'],
          properties: { keyword: { type: 'string' }, said_at: { type: 'number' } },
        },
      },
    },
  },
  example: {
    event: 'keyword.matched',
    timestamp: '2026-11-21T10:15:04Z',
    recording: { id: '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6' },
    keywords: [{ keyword: 'invoice', said_at: 0.81 }],
  },
};

/** The body of the event `keyword.matched`: one for each transcribed recording in which a keyword was said. */
export function keywordMatchedBody(recordingId: string, alerts: readonly KeywordAlert[]): string {
  return JSON.stringify({
    event: 'keyword.matched',
    timestamp: eventTime(new Date()),
    recording: { id: recordingId },
    keywords: alerts.map(({ keyword, saidAt }) => ({ keyword, said_at: saidAt })),
  });
}

function presentKeywordAlert(alert: KeywordAlert): KeywordAlertView {
  return {
    id: alert.id,
    recording_id: alert.recordingId,
    keyword: alert.keyword,
    said_at: alert.saidAt,
    created_at: resourceTime(alert.createdAt),
    recording_uri: `/v1/recordings/${alert.recordingId}`,
  };
}
