import { render } from 'preact';

import { App } from './app';
import { takeLinkCredentials } from './session/sign-in-link';
import './styles/tokens.css';
import './styles/base.css';

takeLinkCredentials();
render(<App />, document.getElementById('app') as HTMLElement);
