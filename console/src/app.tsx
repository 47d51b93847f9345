import { Link, Route, Router, Switch } from 'wouter-preact';

import { Empty } from './components/empty';
import { Loading } from './components/loading';
import { Layout } from './layout/layout';
import { PageHeader } from './layout/page-header';
import { RecordingsPage } from './pages/recordings/recordings-page';
import { SignInPage } from './pages/sign-in/sign-in-page';
import { useHashLocation } from './routing/hash-location';
import { lazyPage } from './routing/lazy-page';
import { client } from './session/session';
import { isExchanging } from './session/sign-in-link';

const RecordPage = lazyPage('Record', () => import('./pages/record/record-page'));
const RecordingPage = lazyPage('Recording', () => import('./pages/recording/recording-page'));
const WebhooksPage = lazyPage('Webhooks', () => import('./pages/webhooks/webhooks-page'));
const KeysPage = lazyPage('Keys', () => import('./pages/keys/keys-page'));
const UsagePage = lazyPage('Usage', () => import('./pages/usage/usage-page'));
const ErrorsPage = lazyPage('Errors', () => import('./pages/errors/errors-page'));

/** Routes are in the fragment (`#/recordings/{id}`), so that the server has one document to serve. */
export function App() {
  if (!client.value) return isExchanging.value ? <Loading label="Signing in…" /> : <SignInPage />;
  return (
    <Router hook={useHashLocation}>
      <Layout>
        <Switch>
          <Route path="/" component={RecordingsPage} />
          <Route path="/record" component={RecordPage} />
          <Route path="/recordings/:id" component={RecordingPage} />
          <Route path="/webhooks/*?" component={WebhooksPage} />
          <Route path="/keys" component={KeysPage} />
          <Route path="/usage" component={UsagePage} />
          <Route path="/errors" component={ErrorsPage} />
          <Route component={UnknownPage} />
        </Switch>
      </Layout>
    </Router>
  );
}

function UnknownPage() {
  return (
    <>
      <PageHeader title="Page not found" />
      <div class="card">
        <Empty
          title="There is no page at this address"
          hint="The link may be incomplete or mistyped."
          action={
            <Link class="button" href="/">
              All recordings
            </Link>
          }
        />
      </div>
    </>
  );
}
