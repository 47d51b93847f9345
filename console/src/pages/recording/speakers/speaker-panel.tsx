import { useSignal } from '@preact/signals';

import { t } from '../../../language/texts';
import type { Solo, Stretch } from '../player/solo';
import type { SpeakerNaming } from './speaker-naming';
import type { NameDraft } from './speaker-form';
import { SpeakerRow } from './speaker-row';
import type { Person } from './speakers';
import './speakers.css';

interface SpeakerPanelProps {
  naming: SpeakerNaming;
  solo: Solo;
  /** Where a person speaks, in order; empty where nobody knows when. */
  stretchesOf: (person: Person) => Stretch[];
}

/** Who speaks, how much, and what can be done: naming, merging and listening to one of them. */
export function SpeakerPanel({ naming, solo, stretchesOf }: SpeakerPanelProps) {
  const persons = naming.persons.value;
  const draft = useSignal<NameDraft | null>(null);
  if (persons.length === 0) return null;
  return (
    <details class="speakers" open>
      <summary>
        {t('Speakers')} <span class="muted numbers">{persons.length}</span>
      </summary>
      <ul>
        {persons.map((person) => (
          <SpeakerRow
            key={person.labels[0]}
            person={person}
            naming={naming}
            draft={draft}
            solo={solo}
            stretches={() => stretchesOf(person)}
          />
        ))}
      </ul>
    </details>
  );
}
