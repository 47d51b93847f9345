import { useEffect, useState } from 'preact/hooks';

import { BLOCKED, isMicrophoneBlocked, standingProblem } from '../../capture/microphone';
import { recorder } from '../../capture/recorder';
import { Icon } from '../../components/icon';
import { t } from '../../language/texts';

/** Why nothing can be recorded, before the person tries and after. */
export function RecorderProblems() {
  const blocked = useBlocked();
  const problem = standingProblem() ?? recorder.problem.value ?? (blocked ? BLOCKED : null);
  return (
    <div class="recorder-problems" role="alert">
      {problem && (
        <div class="notice is-bad">
          <Icon name="alert" />
          <p>
            <strong>{t(problem.title)}.</strong> {t(problem.hint)}
          </p>
        </div>
      )}
      {recorder.storageFull.value && (
        <div class="notice is-warn">
          <Icon name="alert" />
          <p>
            <strong>{t('Browser storage is full.')}</strong>{' '}
            {t('New audio is kept in this tab only: finish and send it before you close the tab.')}
          </p>
        </div>
      )}
    </div>
  );
}

function useBlocked(): boolean {
  const [blocked, setBlocked] = useState(false);
  useEffect(() => {
    const end = new AbortController();
    const read = () => {
      recorder.problem.value = null;
      void isMicrophoneBlocked(read, end.signal).then(setBlocked);
    };
    void isMicrophoneBlocked(read, end.signal).then(setBlocked);
    return () => end.abort();
  }, []);
  return blocked;
}
