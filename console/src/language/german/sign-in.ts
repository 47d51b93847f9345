export const SIGN_IN = {
  'Sign in': 'Anmelden',
  'Sign in again': 'Bitte erneut anmelden',
  'Signing in…': 'Anmeldung läuft …',
  'Sign in with {title}': 'Mit {title} anmelden',
  or: 'oder',
  'Checking…': 'Wird geprüft …',
  'Stay signed in on this device': 'Auf diesem Gerät angemeldet bleiben',
  'The secret is stored in this browser until you sign out. Anyone who uses this browser can use the account.':
    'Das Secret bleibt in diesem Browser gespeichert, bis Sie sich abmelden. Wer diesen Browser benutzt, kann das Konto benutzen.',
  'Otherwise you are signed out when you reload or close this tab.':
    'Sonst sind Sie abgemeldet, sobald Sie diesen Tab neu laden oder schließen.',
  'Trying again automatically.': 'Wird von selbst erneut versucht.',
  'Try again in {wait} s': 'Erneut versuchen in {wait} s',

  // With a password, a link or a passkey
  'Use your e-mail address and password.': 'Mit Ihrer E-Mail-Adresse und Ihrem Passwort.',
  'The e-mail address or the password is not right.': 'E-Mail-Adresse oder Passwort stimmt nicht.',
  'Check both, and try again.': 'Prüfen Sie beides und versuchen Sie es erneut.',
  'Forgot your password?': 'Passwort vergessen?',
  'Forgot your password? An administrator of your account can make a link for you.':
    'Passwort vergessen? Ein Admin Ihres Kontos kann einen Link für Sie erstellen.',
  'Get a link by mail': 'Link per E-Mail erhalten',
  'Get a link by mail, and open it here.': 'Lassen Sie sich einen Link schicken und öffnen Sie ihn hier.',
  'Open the link that an administrator of your account has made for you.':
    'Öffnen Sie den Link, den ein Admin Ihres Kontos für Sie erstellt hat.',
  'Send a link to': 'Link senden an',
  'Send the link': 'Link senden',
  'If {address} belongs to somebody here, a mail with a link is on its way. It works once, within an hour. People of several accounts get none: ask the operator of this service.':
    'Falls {address} hier bekannt ist, ist eine E-Mail mit einem Link unterwegs. Er gilt einmal und eine Stunde lang. Wer zu mehreren Konten gehört, erhält keine: Wenden Sie sich an den Betreiber dieses Dienstes.',
  'Use your passkey.': 'Mit Ihrem Passkey.',
  'Sign in with a passkey': 'Mit Passkey anmelden',
  'Waiting for your passkey…': 'Warten auf Ihren Passkey …',
  'This passkey does not sign in here.': 'Mit diesem Passkey können Sie sich hier nicht anmelden.',
  'It may have been removed. Use another way.': 'Vielleicht wurde er entfernt. Melden Sie sich anders an.',

  // At the company's own sign-in
  'Use the sign-in of your company.': 'Mit der Anmeldung Ihres Unternehmens.',
  'People do not sign in here.': 'Hier melden sich keine Personen an.',
  'You were not signed in there.': 'Sie wurden dort nicht angemeldet.',
  'You are in no group that may use this account. Ask its administrator.':
    'Sie sind in keiner Gruppe, die dieses Konto benutzen darf. Wenden Sie sich an dessen Admin.',
  'It took too long, or was begun in another browser.':
    'Es hat zu lange gedauert oder wurde in einem anderen Browser begonnen.',
  'These were too many attempts. Wait a minute.': 'Das waren zu viele Versuche. Warten Sie eine Minute.',
  'The other service cannot be reached. Tell your administrator.':
    'Der andere Dienst ist nicht erreichbar. Sagen Sie Ihrem Admin Bescheid.',
  'The service cannot be reached. Reload the page.': 'Der Dienst ist nicht erreichbar. Laden Sie die Seite neu.',

  // With a key
  'API key': 'API-Schlüssel',
  'API secret': 'API-Secret',
  'Use a password': 'Mit Passwort anmelden',
  'Use an API key': 'Mit API-Schlüssel anmelden',
  'Use no API key': 'Ohne API-Schlüssel anmelden',
  'Use an API key of your account and its secret.': 'Mit einem API-Schlüssel Ihres Kontos und seinem Secret.',
  'This secret does not belong to this key': 'Dieses Secret gehört nicht zu diesem Schlüssel',
  'Copy both again in full. Revoked and expired keys do not work.':
    'Kopieren Sie beides noch einmal vollständig. Widerrufene und abgelaufene Schlüssel gelten nicht.',
  'This key no longer works: it was revoked or has expired. Sign in with another key.':
    'Dieser Schlüssel gilt nicht mehr: Er wurde widerrufen oder ist abgelaufen. Melden Sie sich mit einem anderen an.',
  'Sign in with this link?': 'Mit diesem Link anmelden?',
  'Use the link': 'Link verwenden',
  'If you use this link, you are signed out and signed in with the key that created it. New recordings then go to the account of that key.':
    'Mit diesem Link werden Sie abgemeldet und mit dem Schlüssel angemeldet, der ihn erstellt hat. Neue Aufnahmen gehen dann an das Konto dieses Schlüssels.',
  'This link has expired or was already used. Links work once, for 10 minutes.':
    'Dieser Link ist abgelaufen oder wurde schon benutzt. Links gelten einmal und 10 Minuten lang.',
  'The link could not be used. Open it again, or sign in with a key.':
    'Der Link konnte nicht verwendet werden. Öffnen Sie ihn erneut, oder melden Sie sich mit einem Schlüssel an.',

  // Signing out
  'Sign out': 'Abmelden',
  'Stay signed in': 'Angemeldet bleiben',
  'Sign out and delete': 'Abmelden und löschen',
  'Sign out and delete unsent recordings?': 'Abmelden und nicht gesendete Aufnahmen löschen?',
  '{count, plural, one {# recording on this device has} other {# recordings on this device have}} not been uploaded. Signing out deletes everything that this browser keeps.':
    '{count, plural, one {# Aufnahme auf diesem Gerät wurde} other {# Aufnahmen auf diesem Gerät wurden}} noch nicht hochgeladen. Beim Abmelden wird alles gelöscht, was dieser Browser aufbewahrt.',
  'You are signed in.': 'Sie sind angemeldet.',
  'You are signed in to {account}.': 'Sie sind im Konto {account} angemeldet.',
  'You are still signed in: the service cannot be reached.':
    'Sie sind noch angemeldet: Der Dienst ist nicht erreichbar.',
  'You signed out in another tab.': 'Sie haben sich in einem anderen Tab abgemeldet.',
} as const;
