import { cloneElement, type VNode } from 'preact';
import type { Scope } from 'vnotes';
import { Link, Route, Router, Switch } from 'wouter-preact';

import { Empty } from './components/empty';
import { Loading } from './components/loading';
import { t, type Text } from './language/texts';
import { Layout } from './layout/layout';
import { PageHeader } from './layout/page-header';
import { RecordingsPage } from './pages/recordings/recordings-page';
import { SignInPage } from './pages/sign-in/sign-in-page';
import { useHashLocation } from './routing/hash-location';
import { lazyPage } from './routing/lazy-page';
import { may, reasonFor } from './session/permissions';
import { client, session } from './session/session';
import { isExchanging, openedLink } from './session/sign-in-link';

const RecordPage = lazyPage('Record', () => import('./pages/record/record-page'));
const RecordingPage = lazyPage('Recording', () => import('./pages/recording/recording-page'));
const WebhooksPage = lazyPage('Webhooks', () => import('./pages/webhooks/webhooks-page'));
const KeysPage = lazyPage('Keys', () => import('./pages/keys/keys-page'));
const UsagePage = lazyPage('Usage', () => import('./pages/usage/usage-page'));
const MembersPage = lazyPage('Members', () => import('./pages/members/members-page'));
const SettingsPage = lazyPage('Settings', () => import('./pages/settings/settings-page'));
const ProfilePage = lazyPage('Your sign-in', () => import('./pages/profile/profile-page'));
const LinkPage = lazyPage('Sign in', () => import('./pages/link/link-page'));
const ErrorsPage = lazyPage('Errors', () => import('./pages/errors/errors-page'));

/** Routes are in the fragment (`#/recordings/{id}`), so that the server has one document to serve. */
export function App() {
  if (isExchanging.value && !client.value) return <Loading label={t('Signing in…')} />;
  if (openedLink.value) return <LinkPage />;
  if (!client.value) return <SignInPage />;
  return (
    <Router hook={useHashLocation}>
      <Layout>
        <Switch>
          {needs('recordings:read', 'list recordings', <Route path="/" component={RecordingsPage} />)}
          {needs('recordings:write', 'upload recordings', <Route path="/record" component={RecordPage} />)}
          {needs('recordings:read', 'read recordings', <Route path="/recordings/:id" component={RecordingPage} />)}
          {needs('webhooks:read', 'list webhooks', <Route path="/webhooks/*?" component={WebhooksPage} />)}
          {needs('account:read', 'list keys', <Route path="/keys" component={KeysPage} />)}
          {needs('account:read', 'read the usage', <Route path="/usage" component={UsagePage} />)}
          {needs('account:read', 'read the errors', <Route path="/errors" component={ErrorsPage} />)}
          {needs('account:read', 'see the members', <Route path="/members" component={MembersPage} />)}
          {needs('account:read', 'read the settings', <Route path="/settings" component={SettingsPage} />)}
          {session.value && <Route path="/profile" component={ProfilePage} />}
          <Route component={UnknownPage} />
        </Switch>
      </Layout>
    </Router>
  );
}

/** The page, or why the key cannot open it. */
function needs(scope: Scope, action: Text, route: VNode): VNode {
  if (may(scope)) return route;
  return cloneElement(
    route,
    { component: undefined },
    <>
      <PageHeader title={t('No access')} />
      <div class="card">
        <Empty
          icon="key"
          title={session.value ? t('Your role cannot open this page') : t('This key cannot open this page')}
          hint={`${reasonFor(scope, action)} ${session.value ? t('Ask an owner of the account.') : t('Sign in with a key that has it.')}`}
        />
      </div>
    </>,
  );
}

function UnknownPage() {
  return (
    <>
      <PageHeader title={t('Page not found')} />
      <div class="card">
        <Empty
          title={t('This page does not exist')}
          hint={t('The link may be incomplete or mistyped.')}
          action={
            <Link class="button" href="/">
              {t('All recordings')}
            </Link>
          }
        />
      </div>
    </>
  );
}
