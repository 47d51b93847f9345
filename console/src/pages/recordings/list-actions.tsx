import { Link } from 'wouter-preact';

import { Icon } from '../../components/icon';
import { Permitted } from '../../components/permitted';
import { t } from '../../language/texts';
import { chooseFiles } from '../../uploads/file-picker';
import { addFiles } from '../../uploads/uploads';

/** The ways to a new recording. */
export function ListActions() {
  return (
    <Permitted scope="recordings:write" action="upload, correct or delete recordings">
      <button type="button" class="button" onClick={() => void upload()}>
        <Icon name="upload" />
        {t('Upload')}
      </button>
      <Link href="/record" class="button is-primary list-record">
        <Icon name="mic" />
        {t('Record')}
      </Link>
    </Permitted>
  );
}

async function upload(): Promise<void> {
  await addFiles(await chooseFiles());
}
