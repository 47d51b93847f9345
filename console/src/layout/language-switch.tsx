import { chooseLanguage, language, LANGUAGES } from '../language/language';
import { t } from '../language/texts';

export function LanguageSwitch() {
  return (
    <div class="segmented" role="group" aria-label={t('Language')}>
      {LANGUAGES.map(([code, name]) => (
        <button
          key={code}
          type="button"
          lang={code}
          title={name}
          aria-pressed={language.value === code}
          onClick={() => void chooseLanguage(code)}
        >
          <span aria-hidden="true">{code.toUpperCase()}</span>
          <span class="visually-hidden">{name}</span>
        </button>
      ))}
    </div>
  );
}
