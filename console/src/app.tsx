import { lazy, Suspense } from 'preact/compat';
import { Route, Router, Switch } from 'wouter-preact';

import { Loading } from './components/loading';
import { Layout } from './layout/layout';
import { RecordingsPage } from './pages/recordings/recordings-page';
import { SignInPage } from './pages/sign-in/sign-in-page';
import { useHashLocation } from './routing/hash-location';
import { client } from './session/session';

const RecordPage = lazy(() => import('./pages/record/record-page'));
const RecordingPage = lazy(() => import('./pages/recording/recording-page'));
const WebhooksPage = lazy(() => import('./pages/webhooks/webhooks-page'));
const KeysPage = lazy(() => import('./pages/keys/keys-page'));
const UsagePage = lazy(() => import('./pages/usage/usage-page'));
const ErrorsPage = lazy(() => import('./pages/errors/errors-page'));

/** Routes are in the fragment (`#/recordings/{id}`), so that the server has one document to serve. */
export function App() {
  if (!client.value) return <SignInPage />;
  return (
    <Router hook={useHashLocation}>
      <Layout>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/" component={RecordingsPage} />
            <Route path="/record" component={RecordPage} />
            <Route path="/recordings/:id" component={RecordingPage} />
            <Route path="/webhooks/*?" component={WebhooksPage} />
            <Route path="/keys" component={KeysPage} />
            <Route path="/usage" component={UsagePage} />
            <Route path="/errors" component={ErrorsPage} />
            <Route component={RecordingsPage} />
          </Switch>
        </Suspense>
      </Layout>
    </Router>
  );
}
