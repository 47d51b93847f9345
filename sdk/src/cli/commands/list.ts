import type { Recording } from '../../index.js';
import type { Context } from '../context.js';
import type { Output } from '../terminal/output.js';
import type { Paint } from '../terminal/colours.js';
import { count, duration, tagsOf, time } from '../terminal/format.js';
import { oneLine } from '../terminal/text-width.js';
import { showPages } from '../terminal/show-pages.js';
import { statusColour } from '../terminal/status-colour.js';
import type { Column } from '../terminal/table.js';

interface ListOptions {
  status?: 'processing' | 'transcribed' | 'failed';
  from?: string;
  to?: string;
  user?: string;
  tag?: Record<string, string>;
  limit: number;
  page?: number;
  all?: boolean;
  order?: 'newest' | 'oldest' | 'longest' | 'shortest' | 'rank';
}

export async function listRecordings(context: Context, options: ListOptions): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const list = client.recordings.list(queryOf(options));
  const columns = columnsFor(output);
  await showPages(output, list, {
    all: options.all ?? false,
    items: (page) => page.recordings,
    print: (recordings) => output.table(recordings, columns),
    none: 'No recordings match. Upload one: vnotes upload note.ogg',
  });
}

export async function searchRecordings(context: Context, options: ListOptions, words: string[]): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const q = words.join(' ');
  await showPages(output, client.recordings.list({ ...queryOf(options), q }), {
    all: options.all ?? false,
    items: (page) => page.recordings,
    print: (recordings) => {
      for (const recording of recordings) output.print(hit(recording, q, output));
    },
    none: `No recording matches "${q}".`,
    summary: (total) => count(total, 'recording'),
  });
}

function queryOf({ status, from, to, user, tag, limit, page, all, order }: ListOptions) {
  return {
    status,
    date_from: from,
    date_to: to,
    user_id: user,
    tags: tag,
    limit: all ? 100 : limit,
    page,
    order,
    include: 'title' as const,
  };
}

function columnsFor(output: Output): Column<Recording>[] {
  return [
    { title: 'ID', value: ({ id }) => id },
    { title: 'UPLOADED', value: ({ created_at }) => time(created_at, output.forPeople), optional: 1 },
    { title: 'LENGTH', value: ({ duration_seconds }) => duration(duration_seconds), optional: 2 },
    { title: 'STATUS', value: ({ status }) => status, colour: ({ status }) => statusColour(status) },
    { title: 'NAME', value: nameOf, flexible: true },
    { title: 'TAGS', value: ({ custom_tags }) => tagsOf(custom_tags), optional: 3, colour: () => 'dim' },
  ];
}

const nameOf = ({ title, original_filename }: Recording): string => title ?? original_filename;

function hit(recording: Recording, q: string, output: Output): string {
  const { id, created_at, snippet = '' } = recording;
  const about = [id, time(created_at, output.forPeople), oneLine(nameOf(recording))].join('  ');
  return `${output.paint('cyan', about)}\n    ${highlighted(oneLine(snippet), q, output.paint)}`;
}

/** Marks the words that were searched for, as far as they stand there as they were written. */
function highlighted(snippet: string, q: string, paint: Paint): string {
  const words = q
    .replaceAll('"', ' ')
    .split(/\s+/)
    .filter((word) => word !== '' && !word.startsWith('-') && word.toLowerCase() !== 'or')
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (words.length === 0) return snippet;
  return snippet.replace(new RegExp(`(?<![\\p{L}\\p{N}])(${words.join('|')})(?![\\p{L}\\p{N}])`, 'giu'), (word) =>
    paint('yellow', paint('bold', word)),
  );
}
