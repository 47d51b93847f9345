import { type Signal, useSignal } from '@preact/signals';
import type { ApiKey, Scope } from 'vnotes';

import { Field } from '../../components/field';
import { fieldError, formError } from '../../forms/field-errors';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatDate } from '../../format/date';
import { t } from '../../language/texts';
import { api } from '../../session/api';
import { currentKey, isTestKey } from '../../session/session';
import { type Expiry, ExpiryField, expiryDate } from './expiry-field';
import { SCOPES } from './scopes';
import '../../forms/choices.css';

interface CreatedKey {
  name: string;
  api_key: string;
  api_secret: string;
}

interface Props {
  own: ApiKey | undefined;
  onClose: () => void;
  onCreated: (key: CreatedKey) => void;
}

const FIELDS = ['name', 'description', 'scopes', 'expires_at'];

export function CreateKeyForm({ own, onClose, onCreated }: Props) {
  const [name, description] = [useSignal(''), useSignal('')];
  const scopes = useSignal<Scope[]>([]);
  const expiry = useSignal<Expiry>({ choice: '90', day: '' });
  const mode = useSignal<Mode>(isTestKey(currentKey.value) ? 'test' : 'live');
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      onCreated(
        await api().keys.create({
          name: name.value.trim(),
          ...(description.value && { description: description.value }),
          scopes: scopes.value,
          expires_at: expiryDate(expiry.value),
          mode: mode.value,
        }),
      );
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <Texts name={name} description={description} error={error.value} />
      {!isTestKey(currentKey.value) && <ModeChoice mode={mode} />}
      <ScopeChoice scopes={scopes} own={own} error={fieldError(error.value, 'scopes')} />
      <ExpiryField expiry={expiry} hint={expiryHint(own)} error={fieldError(error.value, 'expires_at')} />
      <FormError error={formError(error.value, FIELDS)} />
      <FormActions
        label={t('Create key')}
        busyLabel={t('Creating…')}
        isBusy={busy.value}
        isDisabled={scopes.value.length === 0}
        onCancel={onClose}
      />
    </form>
  );
}

function Texts({ name, description, error }: { name: Signal<string>; description: Signal<string>; error: unknown }) {
  return (
    <>
      <Field
        label={t('Name')}
        hint={t('What will use it, such as “backend” or “Ada’s laptop”.')}
        error={fieldError(error, 'name')}
      >
        <input
          required
          maxLength={100}
          autocomplete="off"
          dir="auto"
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </Field>
      <Field label={t('Description (optional)')} error={fieldError(error, 'description')}>
        <input
          maxLength={500}
          autocomplete="off"
          dir="auto"
          onInput={(event) => (description.value = event.currentTarget.value)}
        />
      </Field>
    </>
  );
}

type Mode = 'live' | 'test';

function ModeChoice({ mode }: { mode: Signal<Mode> }) {
  return (
    <label class="choice">
      <input
        type="checkbox"
        checked={mode.value === 'test'}
        onChange={(event) => (mode.value = event.currentTarget.checked ? 'test' : 'live')}
      />
      <span>
        {t('Test key')}
        <span class="choice-hint">{t('For the tests of a program. It sees none of your recordings.')}</span>
      </span>
    </label>
  );
}

interface ScopeChoiceProps {
  scopes: Signal<Scope[]>;
  own: ApiKey | undefined;
  error: string | undefined;
}

/** No key can make one that may do more than itself. */
function ScopeChoice({ scopes, own, error }: ScopeChoiceProps) {
  const held = (scope: Scope) => own === undefined || own.scopes.includes(scope);
  const toggle = (scope: Scope, on: boolean) => {
    scopes.value = SCOPES.map((one) => one.scope).filter((one) => (one === scope ? on : scopes.value.includes(one)));
  };
  const all = SCOPES.map(({ scope }) => scope).filter(held);
  return (
    <fieldset class="choices">
      <legend>{t('Scopes')}</legend>
      <button type="button" class="button is-quiet choices-all" onClick={() => (scopes.value = all)}>
        {t('Select all')}
      </button>
      {SCOPES.map(({ scope, meaning }) => (
        <label key={scope} class="choice">
          <input
            type="checkbox"
            checked={scopes.value.includes(scope)}
            disabled={!held(scope)}
            onChange={(event) => toggle(scope, event.currentTarget.checked)}
          />
          <span>
            <code>{scope}</code>
            <span class="choice-hint">{held(scope) ? t(meaning) : t('Your own key does not have this scope.')}</span>
          </span>
        </label>
      ))}
      <p class={error ? 'error' : 'choice-hint'}>
        {error ?? t('Select only what is needed. A leaked key can do all of it.')}
      </p>
    </fieldset>
  );
}

function expiryHint(own: ApiKey | undefined): string | undefined {
  if (!own?.expires_at) return undefined;
  return t('No later than your own key, which expires on {date}.', { date: formatDate(own.expires_at) });
}
