// Before the components: what they say of themselves comes after it.
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/content.css';
import './styles/print.css';
import { render } from 'preact';

import { App } from './app';
import { followDeletions } from './bulk/deletions';
import { keepConsole } from './offline/keep-console';
import { followLanguage } from './language/language';
import { keepFocus } from './layout/keep-focus';
import { listenForShortcuts } from './hooks/use-shortcut';
import { restrictMarkup } from './security/restrict-markup';
import { followAccount } from './session/account';
import { followEvents } from './session/live-events';
import { signIn } from './session/session';
import { resumeSession, takeLinkCode, watchLinkCode } from './session/sign-in-link';
import { storedCredentials } from './session/stored-credentials';
import { followTheme } from './session/theme';
import { followUploads } from './uploads/uploads';

restrictMarkup();
followTheme();
listenForShortcuts();
keepFocus();
const stored = storedCredentials();
if (stored) signIn(stored);
else void resumeSession();
takeLinkCode();
watchLinkCode();
followAccount();
followEvents();
followUploads();
followDeletions();
keepConsole();
void followLanguage().then(() => render(<App />, document.getElementById('app') as HTMLElement));
