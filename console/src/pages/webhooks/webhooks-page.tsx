import { Route, Switch } from 'wouter-preact';

import { WebhookDetail } from './webhook-detail';
import { WebhookList } from './webhook-list';
import './webhooks.css';

export default function WebhooksPage() {
  return (
    <Switch>
      <Route path="/webhooks/:id">{({ id }) => <WebhookDetail key={id} id={id} />}</Route>
      <Route component={WebhookList} />
    </Switch>
  );
}
