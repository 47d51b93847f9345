import { useSignal } from '@preact/signals';

import { Field } from '../../components/field';
import { t } from '../../language/texts';
import { tagOf } from './list-query';
import { seenLabels } from './seen-labels';

const MAX_SUGGESTED = 12;

interface TagsFieldProps {
  hint: string;
  error: string | undefined;
  /** At first. */
  tags?: readonly [key: string, value: string][];
}

/** Tags, one per line, with those that occur. Its value is `tags` of the form. */
export function TagsField({ hint, error, tags = [] }: TagsFieldProps) {
  const text = useSignal(tags.map(([key, value]) => `${key}=${value}`).join('\n'));
  return (
    <>
      <Field label={t('Tags')} hint={hint} error={error}>
        <textarea
          name="tags"
          rows={3}
          dir="auto"
          spellcheck={false}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </Field>
      <TagSuggestions text={text.value} onChange={(next) => (text.value = next)} />
    </>
  );
}

/** Tags that occur, but for those that are there. A key has one value only. */
function TagSuggestions({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const lines = linesOf(text);
  const suggested = [...seenLabels().tags].toReversed().filter((tag) => !lines.includes(tag));
  if (suggested.length === 0) return null;
  const add = (tag: string, key: string) =>
    onChange([...lines.filter((line) => tagOf(line)?.[0] !== key), tag].join('\n'));
  return (
    <ul class="tag-suggestions" aria-label={t('Suggested tags')}>
      {suggested.slice(0, MAX_SUGGESTED).map((tag) => {
        const [key, value] = tagOf(tag) ?? [tag, ''];
        return (
          <li key={tag}>
            <button type="button" class="row-tag" onClick={() => add(tag, key)}>
              <bdi class="muted">{key}</bdi>
              <bdi>{value}</bdi>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** @returns the tags, or the first line that is none */
export function readTags(text: string): { tags: [key: string, value: string][]; wrong: string | undefined } {
  const lines = linesOf(text);
  return {
    tags: lines.flatMap((line) => (tagOf(line) ? [tagOf(line) as [string, string]] : [])),
    wrong: lines.find((line) => !tagOf(line)),
  };
}

export const wrongTag = (line: string): string => t('Write a tag as key=value, not “{line}”.', { line });

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');
