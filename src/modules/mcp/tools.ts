import type { Tool as ToolDescription } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Scope } from '../../access/scopes.js';
import { type BrokenRule, InvalidRequestError } from '../../platform/errors/errors.js';
import { MAX_AUDIO_BYTES, type RecordingToolsService, type ToolCaller } from './recording-tools.service.js';
import { MAX_CHARACTERS, READABLE_FORMATS, type TranscriptionToolsService } from './transcription-tools.service.js';

/** What tools do their work with. */
export interface ToolServices {
  recordings: RecordingToolsService;
  transcriptions: TranscriptionToolsService;
}

/** Something that an assistant can do, with the scope that its key needs for it. */
export interface Tool {
  scope: Scope;
  description: ToolDescription;
  /** @param input not validated yet. @throws ApiError */
  run: (services: ToolServices, caller: ToolCaller, input: unknown) => Promise<object>;
}

interface Definition<Input> {
  name: string;
  title: string;
  description: string;
  scope: Scope;
  annotations: ToolDescription['annotations'];
  input: z.ZodType<Input>;
  output: z.ZodRawShape;
  run: (services: ToolServices, caller: ToolCaller, input: Input) => Promise<object>;
}

const READS = { readOnlyHint: true, openWorldHint: false };
const WRITES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };

const integer = (minimum: number, maximum: number) => {
  const error = `must be an integer from ${minimum} to ${maximum}`;
  return z.int(error).min(minimum, error).max(maximum, error);
};
/** A body can have thousands of wrong arguments. */
const MAX_TOLD_RULES = 20;
const MAX_NAME = 100;
const MAX_LIMIT = 50;
const MAX_PAGE = 1_000_000_000;
const MAX_OFFSET = 1_000_000_000;

const recordingId = z.string().describe('Identifier of the recording, from search_recordings');
const tags = z.record(z.string(), z.string());

const SUMMARY = {
  id: z.string(),
  title: z.string().describe('The name of the file, unless it was given a title'),
  filename: z.string(),
  status: z.string(),
  duration_seconds: z.number(),
  created_at: z.string().describe('UTC'),
  user_id: z.string().nullable().describe('The end user of the account whose recording it is'),
  custom_tags: tags,
};

export const TOOLS: readonly Tool[] = [
  defineTool({
    name: 'search_recordings',
    title: 'Search voice notes',
    description:
      'Finds voice notes by the words of their transcriptions and titles, tags, days, end user or status; without any of them, ' +
      'lists all, the newest first. Results have the identifiers that the other tools take, and no transcriptions: ' +
      'use read_transcription.',
    scope: 'recordings:read',
    annotations: READS,
    input: z.strictObject({
      q: z
        .string()
        .optional()
        .describe('Words: all of them, "a phrase", or between alternatives, -word for notes without it'),
      order: z
        .enum(['newest', 'oldest', 'longest', 'shortest', 'rank'])
        .optional()
        .describe('rank, only with q: the best matches first'),
      status: z.enum(['processing', 'transcribed', 'failed']).optional(),
      date_from: z.string().optional().describe('First day (UTC), such as 2026-11-01'),
      date_to: z.string().optional().describe('Last day (UTC)'),
      user_id: z.string().optional().describe('Only recordings of this end user'),
      custom_tags: tags.optional().describe('Only recordings that have all these tags'),
      page: integer(0, MAX_PAGE).optional().describe('0 is the first page'),
      limit: integer(1, MAX_LIMIT).optional().describe('Results on a page; 20 by default'),
    }),
    output: {
      recordings: z.array(z.object({ ...SUMMARY, snippet: z.string().optional().describe('Around the first match') })),
      page: z.int(),
      total: z.int(),
      has_more: z.boolean(),
    },
    run: ({ recordings }, { principal }, input) => recordings.search(principal.accountId, input),
  }),
  defineTool({
    name: 'get_recording',
    title: 'Get a voice note',
    description:
      'Tells the status of a voice note and what is known about it. status is processing, transcribed or failed.',
    scope: 'recordings:read',
    annotations: READS,
    input: z.strictObject({ recording_id: recordingId }),
    output: {
      recording: z.object({
        ...SUMMARY,
        audio_format: z.string(),
        processed_at: z.string().nullable(),
        failure_reason: z.string().nullable(),
        speech_seconds: z.number().nullable(),
        no_speech: z.boolean().nullable(),
      }),
    },
    run: ({ recordings }, { principal }, input) => recordings.get(principal.accountId, input.recording_id),
  }),
  defineTool({
    name: 'read_transcription',
    title: 'Read a transcription',
    description:
      `Reads the transcription of a voice note, at most ${MAX_CHARACTERS} characters at a time: continue with offset = ` +
      'next_offset until that is null. The formats srt and vtt have times; they and paragraphs tell who speaks, where that ' +
      'is known. Keep the etag for correct_transcription, which takes the format text.',
    scope: 'recordings:read',
    annotations: READS,
    input: z.strictObject({
      recording_id: recordingId,
      format: z.enum(READABLE_FORMATS).optional().describe('text by default'),
      offset: integer(0, MAX_OFFSET).optional().describe('Characters to skip; 0 by default'),
      max_characters: integer(1, MAX_CHARACTERS).optional(),
    }),
    output: {
      recording_id: z.string(),
      text: z.string(),
      offset: z.int(),
      next_offset: z.int().nullable(),
      total_characters: z.int(),
      language: z.string(),
      confidence: z.number(),
      version: z.string().describe('corrected if a person has corrected the text, else original'),
      etag: z.string(),
    },
    run: ({ transcriptions }, { principal }, input) => transcriptions.read(principal.accountId, input),
  }),
  defineTool({
    name: 'upload_recording',
    title: 'Upload a voice note',
    description:
      `Uploads audio of at most ${MAX_AUDIO_BYTES.toLocaleString('en-US')} bytes and starts its transcription. Larger ` +
      'files are uploaded with POST /v1/recordings or with the command line `vnotes upload`.',
    scope: 'recordings:write',
    annotations: { ...WRITES, idempotentHint: false },
    input: z.strictObject({
      audio_base64: z.string().describe('The file in base64'),
      filename: z.string().optional().describe('Such as note.ogg'),
      title: z.string().optional().describe('What to call it'),
      custom_tags: tags.optional().describe('Tags of your own'),
      language: z.string().optional().describe('English name of the language spoken, such as english'),
      vocabulary: z.array(z.string()).optional().describe('Names and words to expect'),
    }),
    output: { recording: z.object(SUMMARY) },
    run: ({ recordings }, caller, input) => recordings.upload(caller, input),
  }),
  defineTool({
    name: 'update_recording',
    title: 'Rename or tag a voice note',
    description:
      'Changes the title of a voice note, its tags, or both. Give all the tags: they replace those that it has.',
    scope: 'recordings:write',
    annotations: { ...WRITES, idempotentHint: true },
    input: z.strictObject({
      recording_id: recordingId,
      title: z.string().nullable().optional().describe('null: as its file'),
      custom_tags: tags.nullable().optional().describe('null removes them'),
    }),
    output: { recording: z.object(SUMMARY) },
    run: ({ recordings }, { principal }, input) => recordings.update(principal.accountId, input),
  }),
  defineTool({
    name: 'correct_transcription',
    title: 'Correct a transcription',
    description:
      'Replaces the whole text of a transcription by a corrected one. The text of the engine is kept and can be ' +
      'restored. Give the etag of read_transcription, so that nobody’s newer correction is lost.',
    scope: 'recordings:write',
    annotations: { ...WRITES, idempotentHint: true },
    input: z.strictObject({
      recording_id: recordingId,
      text: z.string().describe('The whole corrected text, not a part of it'),
      etag: z.string().optional().describe('With its quotation marks; refused if there is a newer version'),
    }),
    output: { recording_id: z.string(), etag: z.string(), version: z.string(), total_characters: z.int() },
    run: ({ transcriptions }, { principal }, input) => transcriptions.correct(principal.accountId, input),
  }),
];

function defineTool<Input>(definition: Definition<Input>): Tool {
  const { input, output, run, scope, ...told } = definition;
  const notice = z.string().describe('How to treat what follows');
  return {
    scope,
    description: {
      ...told,
      inputSchema: z.toJSONSchema(input, { io: 'input' }) as ToolDescription['inputSchema'],
      outputSchema: z.toJSONSchema(z.object({ notice, ...output })),
    },
    run: (services, caller, given) => run(services, caller, validated(input, given)),
  };
}

/** @throws InvalidRequestError with each argument that is wrong */
function validated<Input>(schema: z.ZodType<Input>, given: unknown): Input {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [first, ...others] = parsed.error.issues.flatMap(brokenRules).slice(0, MAX_TOLD_RULES);
  throw new InvalidRequestError(first ?? { field: 'arguments', reason: 'must be an object' }, ...others);
}

function brokenRules(issue: z.core.$ZodIssue): BrokenRule[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ field: nameOf([key]), reason: 'is not an argument of this tool' }));
  }
  return [{ field: nameOf(issue.path), reason: reasonOf(issue) }];
}

const nameOf = (path: PropertyKey[]): string => path.join('.').slice(0, MAX_NAME).toWellFormed() || 'arguments';

function reasonOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'invalid_type') return issue.message;
  if (issue.message.startsWith('must be')) return issue.message;
  // zod does not tell an absent value from one of another type.
  return issue.message.endsWith('received undefined') ? 'is required' : `must be a JSON ${issue.expected}`;
}
