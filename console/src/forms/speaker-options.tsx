import type { ComponentChildren } from 'preact';
import { t } from '../language/texts';

/** As the service takes them. */
const MOST_SPEAKERS = 20;

interface SpeakerOptionsProps {
  /** What it means to choose nothing. */
  unset: string;
  /** Further options. */
  children?: ComponentChildren;
}

/** The options of a select: how many speakers to tell apart. */
export function SpeakerOptions({ unset, children }: SpeakerOptionsProps) {
  return (
    <>
      <option value="">{unset}</option>
      <option value="auto">{t('Automatic')}</option>
      {Array.from({ length: MOST_SPEAKERS }, (_, index) => (
        <option key={index} value={String(index + 1)}>
          {index + 1}
        </option>
      ))}
      {children}
    </>
  );
}
