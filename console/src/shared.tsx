// Before the components: what they say of themselves comes after it.
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/content.css';
import './styles/print.css';
import { render } from 'preact';

import { listenForShortcuts } from './hooks/use-shortcut';
import { followLanguage } from './language/language';
import { SharedPage } from './pages/shared/shared-page';
import { restrictMarkup } from './security/restrict-markup';
import { followTheme } from './session/theme';

restrictMarkup();
followTheme();
listenForShortcuts();
void followLanguage().then(() => render(<SharedPage />, document.getElementById('app') as HTMLElement));
