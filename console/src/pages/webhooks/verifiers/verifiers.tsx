import { useSignal } from '@preact/signals';

import { CopyButton } from '../../../components/copy-button';
import { Segments } from '../../../forms/segments';
import { rich, t } from '../../../language/texts';
import go from './verify.go?raw';
// oxlint-disable-next-line import/default -- the text of the file, not its module
import node from './verify.mjs?raw';
import python from './verify.py?raw';
import shell from './verify.sh?raw';

const CODE = { Node: node, Python: python, Go: go, Shell: shell };

type Language = keyof typeof CODE;

const LANGUAGES = (Object.keys(CODE) as Language[]).map((language) => ({ value: language, label: language }));

/** Code to paste into the receiver: that of docs/webhooks.md, which a test runs against signed deliveries. */
export function Verifiers() {
  const language = useSignal<Language>('Node');
  return (
    <section class="card" aria-labelledby="verifiers-title">
      <header class="card-header">
        <h2 id="verifiers-title">{t('Verify deliveries')}</h2>
        <div class="actions">
          <Segments
            label={t('Language')}
            options={LANGUAGES}
            value={language.value}
            onChange={(next) => (language.value = next)}
          />
          <CopyButton text={CODE[language.value]} label={t('Copy for {language}', { language: language.value })} />
        </div>
      </header>
      <div class="card-body verifiers">
        <p class="muted">
          {rich(
            'Verify the signature over the raw body, before parsing it. Either of the two functions is enough. The second one also rejects requests that are more than five minutes old. Respond with a 2xx status within 15 seconds. The same event can arrive more than once: store the <code>X-Service-Event-Id</code> of each event that you have handled.',
            { code: (words) => <code>{words}</code> },
          )}
        </p>
        <pre
          class="code"
          tabIndex={0}
          role="region"
          aria-label={t('Verifier for {language}', { language: language.value })}
        >
          {CODE[language.value]}
        </pre>
      </div>
    </section>
  );
}
