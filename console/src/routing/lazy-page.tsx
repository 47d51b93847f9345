import type { ComponentType, FunctionComponent } from 'preact';

import { Failed } from '../components/failed';
import { Loading } from '../components/loading';
import { useAsync } from '../hooks/use-async';
import { PageHeader } from '../layout/page-header';
import { t, type Text } from '../language/texts';
import { PageLoadError } from './page-load-error';

type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** A page whose code is loaded when it is first shown. What fails can be tried again without losing the session. */
export function lazyPage<P extends object>(title: Text, load: Load<P>): FunctionComponent<P> {
  let Page: ComponentType<P> | undefined;
  const loadOnce = async () => {
    try {
      Page ??= (await load()).default;
      return Page;
    } catch (cause) {
      throw new PageLoadError('', { cause });
    }
  };
  return function LazyPage(props: P) {
    // A page that is there already is shown at once.
    const { error, loading, reload } = useAsync(loadOnce, []);
    if (Page) return <Page {...props} />;
    if (loading) return <Loading />;
    return (
      <>
        <PageHeader title={t(title)} />
        <div class="card">
          <Failed error={error} onRetry={reload} />
        </div>
      </>
    );
  };
}
