import { useSignal } from '@preact/signals';

import { signIn } from '../../session/session';

export function SignInPage() {
  const [key, secret] = [useSignal(''), useSignal('')];
  const submit = (event: Event) => {
    event.preventDefault();
    signIn({ key: key.value.trim(), secret: secret.value.trim() });
  };
  return (
    <main class="sign-in">
      <h1>Voice notes</h1>
      <form onSubmit={submit}>
        <div class="field">
          <label for="key">API key</label>
          <input id="key" autocomplete="username" required onInput={(e) => (key.value = e.currentTarget.value)} />
        </div>
        <div class="field">
          <label for="secret">API secret</label>
          <input
            id="secret"
            type="password"
            autocomplete="current-password"
            required
            onInput={(e) => (secret.value = e.currentTarget.value)}
          />
        </div>
        <button type="submit" class="button is-primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
