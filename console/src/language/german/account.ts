/** Of the pages of an account and its people, but webhooks. */
export const ACCOUNT = {
  // Settings
  'Vocabulary, speakers and retention are for new recordings. An upload may say something else for itself.':
    'Vokabular, Sprecher und Aufbewahrung gelten für neue Aufnahmen. Ein Upload kann für sich etwas anderes bestimmen.',
  'Loading settings…': 'Einstellungen werden geladen …',
  '{what} saved.': '{what} gespeichert.',
  'Save: {what}': 'Speichern: {what}',
  'Names and words to expect': 'Namen und Wörter, die vorkommen',
  'One on a line, the most important first. At most 15 of them reach the engine.':
    'Ein Eintrag pro Zeile, die wichtigsten zuerst. Höchstens 15 davon erreichen die Spracherkennung.',
  'How many to tell apart': 'Wie viele unterschieden werden',
  Retention: 'Aufbewahrung',
  'Delete the audio once it is transcribed': 'Audio löschen, sobald es transkribiert ist',
  'It can neither be played nor be transcribed again then.':
    'Es kann dann weder abgespielt noch neu transkribiert werden.',
  'Days until the audio is deleted': 'Tage, bis das Audio gelöscht wird',
  'Empty: with the recording.': 'Leer: zusammen mit der Aufnahme.',
  'Days until the whole recording is deleted': 'Tage, bis die ganze Aufnahme gelöscht wird',
  'Audit log': 'Audit-Protokoll',
  'Also who reads, plays and exports': 'Auch wer liest, abspielt und exportiert',
  'Changes are always recorded.': 'Änderungen werden immer festgehalten.',
  'Days until entries are removed': 'Tage, bis Einträge entfernt werden',
  'Empty: never.': 'Leer: nie.',

  // Export of the account
  'One tar file of all that the account has at that moment: audio, texts in every form, webhooks, events and the audit log.':
    'Eine tar-Datei mit allem, was das Konto in diesem Moment hat: Audio, Texte in jeder Form, Webhooks, Ereignisse und das Audit-Protokoll.',
  'Loading the export…': 'Export wird geladen …',
  'export the account': 'das Konto exportieren',
  'Prepare an export': 'Export vorbereiten',
  'Prepare another': 'Neuen vorbereiten',
  'Preparing…': 'Wird vorbereitet …',
  Preparing: 'In Vorbereitung',
  Ready: 'Fertig',
  '<b>This export failed.</b> The service was restarted meanwhile, or its storage did not answer. Prepare another. If that fails too, tell the operator of the service its ID: {id}':
    '<b>Dieser Export ist fehlgeschlagen.</b> Der Dienst wurde währenddessen neu gestartet, oder sein Speicher hat nicht geantwortet. Bereiten Sie einen neuen vor. Schlägt auch der fehl, nennen Sie dem Betreiber des Dienstes diese ID: {id}',
  'Asked for {age}. A large account takes minutes. You can leave this page meanwhile.':
    'Angefordert {age}. Bei einem großen Konto dauert es Minuten. Sie können diese Seite solange verlassen.',
  Size: 'Größe',
  'As of': 'Stand',
  'Kept until': 'Aufbewahrt bis',
  'Anyone who has the file can read all of it. A new export replaces this one.':
    'Wer die Datei hat, kann alles darin lesen. Ein neuer Export ersetzt diesen.',
  'Downloading… {percent} %': 'Wird heruntergeladen … {percent} %',
  'The download failed. The connection was lost, or the export is no longer there. Try again.':
    'Der Download ist fehlgeschlagen: Die Verbindung ist abgebrochen, oder es gibt den Export nicht mehr. Versuchen Sie es erneut.',

  // Members
  'The people of this account, and what each may do.': 'Die Personen dieses Kontos und was sie dürfen.',
  Invite: 'Einladen',
  'Administrators and owners who have signed in invite others.':
    'Admins und Eigentümer laden andere ein, wenn sie angemeldet sind.',
  People: 'Personen',
  'Loading members…': 'Mitglieder werden geladen …',
  'No members yet': 'Noch keine Mitglieder',
  'The operator of the service makes a link for the first owner.':
    'Der Betreiber des Dienstes erstellt einen Link für den ersten Eigentümer.',
  You: 'Sie',
  'Not seen yet': 'Noch nie angemeldet',
  'Seen {age}': 'Zuletzt aktiv: {age}',
  Role: 'Rolle',
  'Role of {name}': 'Rolle von {name}',
  '{name} is {role} now.': '{name} hat jetzt die Rolle {role}.',
  'Everything, and makes others owners': 'Alles, und macht andere zu Eigentümern',
  'Everything, and changes all members but owners': 'Alles, und ändert alle Mitglieder außer Eigentümern',
  'Records, corrects, shares and deletes recordings': 'Nimmt auf und korrigiert, teilt und löscht Aufnahmen',
  'Reads and hears recordings': 'Liest und hört Aufnahmen',
  'Remove {name}': '{name} entfernen',
  'Remove this member?': 'Dieses Mitglied entfernen?',
  '<b>{name}</b> is signed out of this account at once. API keys that this person has made stay.':
    '<b>{name}</b> wird sofort von diesem Konto abgemeldet. API-Schlüssel, die diese Person angelegt hat, bleiben.',
  'Member removed.': 'Mitglied entfernt.',
  'Sign-in link': 'Anmeldelink',
  'Sign-in link for {name}': 'Anmeldelink für {name}',
  'Create a sign-in link?': 'Anmeldelink erstellen?',
  '<b>{name}</b> signs in with it once, within a day, and sets a new password. Anyone who has the link can act as this person.':
    '<b>{name}</b> meldet sich damit einmal innerhalb eines Tages an und setzt ein neues Passwort. Wer den Link hat, handelt als diese Person.',
  'Create link': 'Link erstellen',
  'Link created': 'Link erstellt',
  'Link sent to {email}.': 'Link an {email} gesendet.',
  'Send this link to {name} alone.': 'Senden Sie diesen Link nur an {name}.',
  'One moment…': 'Einen Moment …',
  'Invite somebody': 'Jemanden einladen',
  'Create invitation': 'Einladung erstellen',
  'Invitation created': 'Einladung erstellt',
  'Invitation sent to {email}.': 'Einladung an {email} gesendet.',
  'Send this link to {email}. Anyone who has it can join once, within 7 days.':
    'Senden Sie diesen Link an {email}. Wer ihn hat, kann innerhalb von 7 Tagen einmal beitreten.',
  'Open invitations': 'Offene Einladungen',
  'as {role}, until {date}': 'als {role}, bis {date}',
  Withdraw: 'Zurückziehen',
  'Withdraw the invitation of {email}': 'Einladung von {email} zurückziehen',
  'Invitation withdrawn.': 'Einladung zurückgezogen.',

  // Links and invitations that are opened
  'Sign in with this link': 'Mit diesem Link anmelden',
  'It works once.': 'Er gilt einmal.',
  'It works once. You are signed out first.': 'Er gilt einmal. Sie werden zuerst abgemeldet.',
  '<b>This link was used or has expired.</b> Ask an administrator of your account for another one.':
    '<b>Dieser Link wurde schon benutzt oder ist abgelaufen.</b> Bitten Sie einen Admin Ihres Kontos um einen neuen.',
  'Set a password': 'Passwort festlegen',
  'For {email}. You sign in with it from now on.': 'Für {email}. Damit melden Sie sich künftig an.',
  'Set password': 'Passwort festlegen',
  'Not now': 'Jetzt nicht',
  Invitation: 'Einladung',
  'This invitation cannot be used': 'Diese Einladung gilt nicht',
  'It was accepted or withdrawn, or has expired. Ask for another one.':
    'Sie wurde angenommen oder zurückgezogen oder ist abgelaufen. Bitten Sie um eine neue.',
  'Opening the invitation…': 'Einladung wird geöffnet …',
  'Join {account}': '{account} beitreten',
  'You are invited as {role}, until {date}.': 'Sie sind eingeladen: Rolle {role}, bis {date}.',
  Join: 'Beitreten',
  'Join as {name}': 'Beitreten als {name}',
  'Join as somebody else': 'Als jemand anderes beitreten',
  'Joining…': 'Beitritt läuft …',
  'You sign in to another account here already? Close this page, sign in, and open the link again.':
    'Melden Sie sich hier schon bei einem anderen Konto an? Schließen Sie diese Seite, melden Sie sich an und öffnen Sie den Link erneut.',

  // One's own sign-in
  '{email}, {role} of {account}': '{email}, {role} im Konto {account}',
  'You change your name, e-mail address and password where you sign in: {provider}.':
    'Name, E-Mail-Adresse und Passwort ändern Sie dort, wo Sie sich anmelden: {provider}.',
  'Your name': 'Ihr Name',
  'Save name': 'Name speichern',
  'Name saved.': 'Name gespeichert.',
  'Your password': 'Ihr Passwort',
  'Current password': 'Aktuelles Passwort',
  'New password': 'Neues Passwort',
  'Change password': 'Passwort ändern',
  'Password changed. Everywhere else you are signed out.': 'Passwort geändert. Überall sonst sind Sie abgemeldet.',
  Passkeys: 'Passkeys',
  'Loading passkeys…': 'Passkeys werden geladen …',
  'You signed in with a link. Sign in with your password to add a passkey.':
    'Sie haben sich mit einem Link angemeldet. Melden Sie sich mit Ihrem Passwort an, um einen Passkey hinzuzufügen.',
  'This browser keeps no passkeys for this address.': 'Dieser Browser speichert für diese Adresse keine Passkeys.',
  'Not used yet, added {added}': 'Noch nicht benutzt, hinzugefügt: {added}',
  'Used {used}, added {added}': 'Zuletzt benutzt: {used}, hinzugefügt: {added}',
  'Rename {name}': '{name} umbenennen',
  'New name of {name}': 'Neuer Name von {name}',
  'Remove: {name}': 'Entfernen: {name}',
  'Remove now': 'Jetzt entfernen',
  'Remove now: {name}': 'Jetzt entfernen: {name}',
  'Passkey removed.': 'Passkey entfernt.',
  'Name of a new passkey': 'Name eines neuen Passkeys',
  'Such as the device on which it is kept. You sign in with it in place of your password.':
    'Zum Beispiel das Gerät, auf dem er gespeichert ist. Sie melden sich damit anstelle Ihres Passworts an.',
  'Add a passkey': 'Passkey hinzufügen',
  'Waiting for your device…': 'Warten auf Ihr Gerät …',
  'Passkey added.': 'Passkey hinzugefügt.',
  'This device has a passkey of yours already.': 'Auf diesem Gerät haben Sie schon einen Passkey.',
  'Where you have signed in': 'Wo Sie angemeldet sind',
  'Loading sessions…': 'Sitzungen werden geladen …',
  'Unknown address': 'Unbekannte Adresse',
  'Unknown browser': 'Unbekannter Browser',
  'This one': 'Diese Sitzung',
  'By {way}, seen {age}': 'Mit {way}, zuletzt aktiv: {age}',
  password: 'Passwort',
  link: 'Link',
  provider: 'Anbieter',
  passkey: 'Passkey',
  End: 'Beenden',
  'End the session of {date}': 'Sitzung vom {date} beenden',
  'Session ended.': 'Sitzung beendet.',
  'Your accounts': 'Ihre Konten',
  Leave: 'Verlassen',
  'Leave {account}': '{account} verlassen',
  'Leave now': 'Jetzt verlassen',
  'Leave now {account}': '{account} jetzt verlassen',

  // Keys
  'API keys let your programs use the API. A key can do only what its scopes allow.':
    'Mit API-Schlüsseln nutzen Ihre Programme die API. Ein Schlüssel darf nur, was seine Berechtigungen erlauben.',
  'New key': 'Neuer Schlüssel',
  'API keys': 'API-Schlüssel',
  'Loading keys…': 'Schlüssel werden geladen …',
  'No matching keys': 'Keine passenden Schlüssel',
  'No key has this status.': 'Kein Schlüssel hat diesen Status.',
  'Status of the keys': 'Status der Schlüssel',
  'Active and expired': 'Aktive und abgelaufene',
  Expired: 'Abgelaufen',
  Revoked: 'Widerrufen',
  'Test keys': 'Testschlüssel',
  Scopes: 'Berechtigungen',
  'All scopes': 'Alle Berechtigungen',
  'Last used': 'Zuletzt benutzt',
  Expires: 'Läuft ab',
  Never: 'Nie',
  'Show the details': 'Details anzeigen',
  Test: 'Test',
  'This session': 'Diese Sitzung',
  '{count, plural, one {# request} other {# requests}}': '{count, plural, one {# Anfrage} other {# Anfragen}}',
  'Loading the key…': 'Schlüssel wird geladen …',
  Prefix: 'Präfix',
  'Created by': 'Angelegt von',
  'The operator of the service': 'Betreiber des Dienstes',
  'The key “{name}” ({prefix}…)': 'Schlüssel „{name}“ ({prefix}…)',
  'The key with the ID {id}': 'Schlüssel mit der ID {id}',
  Requests: 'Anfragen',
  'New API key': 'Neuer API-Schlüssel',
  'What will use it, such as “backend” or “Ada’s laptop”.': 'Wofür er ist, zum Beispiel „Backend“ oder „Adas Laptop“.',
  'Description (optional)': 'Beschreibung (optional)',
  'Test key': 'Testschlüssel',
  'For the tests of a program. It sees none of your recordings.':
    'Für die Tests eines Programms. Er sieht keine Ihrer Aufnahmen.',
  'List, search and play recordings, and read their transcripts and events.':
    'Aufnahmen auflisten, durchsuchen und abspielen, ihre Transkripte und Ereignisse lesen.',
  'Upload, retry, correct and delete recordings, and create tokens for end users.':
    'Aufnahmen hochladen, wiederholen, korrigieren und löschen, Token für Endnutzer anlegen.',
  'View webhooks and their deliveries.': 'Webhooks und ihre Zustellungen ansehen.',
  'Create, change, test and delete webhooks, and resend events.':
    'Webhooks anlegen, ändern, testen und löschen, Ereignisse erneut senden.',
  'View the account, its keys, usage, quotas and errors.':
    'Das Konto, seine Schlüssel, Nutzung, Kontingente und Fehler ansehen.',
  'Create and revoke keys, void tokens, and erase end users.':
    'Schlüssel anlegen und widerrufen, Token ungültig machen, Daten von Endnutzern löschen.',
  'Your own key does not have this scope.': 'Ihr eigener Schlüssel hat diese Berechtigung nicht.',
  'Select only what is needed. A leaked key can do all of it.':
    'Wählen Sie nur das Nötige: Wer an den Schlüssel gelangt, darf all das.',
  'In 30 days': 'In 30 Tagen',
  'In 90 days': 'In 90 Tagen',
  'In 1 year': 'In 1 Jahr',
  'On a date…': 'An einem Tag …',
  'No later than your own key, which expires on {date}.': 'Spätestens mit Ihrem eigenen Schlüssel, am {date}.',
  'Create key': 'Schlüssel anlegen',
  'Key created': 'Schlüssel angelegt',
  '“{name}” has two parts. Send both with every request, as X-Service-API-Key and X-Service-API-Secret.':
    '„{name}“ hat zwei Teile. Senden Sie mit jeder Anfrage beide, als X-Service-API-Key und X-Service-API-Secret.',
  Revoke: 'Widerrufen',
  'Revoke {name}': '{name} widerrufen',
  'Revoke this key?': 'Diesen Schlüssel widerrufen?',
  'Requests with this key are rejected from now on. This cannot be undone.':
    'Anfragen mit diesem Schlüssel werden ab jetzt abgelehnt. Das lässt sich nicht rückgängig machen.',
  'You are signed in with this key. Revoking it signs you out. You need another key to sign in again.':
    'Sie sind mit diesem Schlüssel angemeldet. Das Widerrufen meldet Sie ab. Für eine neue Anmeldung brauchen Sie einen anderen Schlüssel.',
  'Also revoke the keys that it created': 'Auch die Schlüssel widerrufen, die mit ihm angelegt wurden',
  'Including keys that those created. Choose this if the key has leaked: someone may have created others with it.':
    'Und die, die mit jenen angelegt wurden. Wählen Sie das, wenn der Schlüssel in fremde Hände geraten ist: Jemand kann damit weitere angelegt haben.',
  'Revoke key': 'Schlüssel widerrufen',
  'Revoke and sign out': 'Widerrufen und abmelden',
  'Revoking…': 'Wird widerrufen …',
  'Key revoked.': 'Schlüssel widerrufen.',
  'Access tokens': 'Zugriffstoken',
  'Your server issues short-lived tokens that the apps of your end users upload with. Void them to reject all tokens issued so far. Tokens issued afterwards work.':
    'Ihr Server gibt kurzlebige Token aus, mit denen die Apps Ihrer Endnutzer hochladen. Machen Sie sie ungültig, um alle bisher ausgegebenen abzulehnen. Später ausgegebene gelten.',
  'Void tokens': 'Token ungültig machen',
  'The tokens of this end user are now void.': 'Die Token dieses Endnutzers sind jetzt ungültig.',
  'Void all tokens…': 'Alle Token ungültig machen …',
  'Void all access tokens?': 'Alle Zugriffstoken ungültig machen?',
  'Apps that upload with a token are rejected until your server issues a new one. API keys are not affected.':
    'Apps, die mit einem Token hochladen, werden abgelehnt, bis Ihr Server ein neues ausgibt. API-Schlüssel sind nicht betroffen.',
  'Void all tokens': 'Alle ungültig machen',
  'Voiding…': 'Wird ausgeführt …',
  'All access tokens are now void.': 'Alle Zugriffstoken sind jetzt ungültig.',

  // Usage
  '{name} · Plan {plan} · Days and months in UTC': '{name} · Tarif {plan} · Tage und Monate in UTC',
  'Loading usage…': 'Nutzung wird geladen …',
  'Last 30 days': 'Letzte 30 Tage',
  Figure: 'Kennzahl',
  '{day}: {figures}': '{day}: {figures}',
  '{count, plural, one {# recording} other {# recordings}}, {failed, number} failed, {length} of audio':
    '{count, plural, one {# Aufnahme} other {# Aufnahmen}}, {failed, number} fehlgeschlagen, {length} Audio',
  'Chart by day. Total: {figures}.': 'Diagramm nach Tagen. Insgesamt: {figures}.',
  'Show as a table': 'Als Tabelle anzeigen',
  'Usage by day': 'Nutzung nach Tagen',
  Day: 'Tag',
  Months: 'Monate',
  'Last month': 'Voriger Monat',
  Stored: 'Gespeichert',
  'Rate limit': 'Anfragelimit',
  '<b>{left}</b> <rest>of {limit} left</rest>': '<b>{left}</b> <rest>von {limit} übrig</rest>',
  '{limit, number} requests a minute, shared by all keys of the account. After that a short burst is allowed, then requests are rejected with 429 and the time to wait.':
    '{limit, number} Anfragen pro Minute für alle Schlüssel des Kontos zusammen. Danach ist noch eine kurze Spitze erlaubt, dann werden Anfragen mit 429 und der Wartezeit abgelehnt.',
  Quotas: 'Kontingente',
  'Stored audio': 'Gespeichertes Audio',
  'Delete recordings to free space.': 'Löschen Sie Aufnahmen, um Platz zu schaffen.',
  'Audio this month': 'Audio in diesem Monat',
  'Includes deleted recordings.': 'Auch gelöschte Aufnahmen zählen.',
  'Queued audio': 'Audio in der Warteschlange',
  'Waiting for transcription.': 'Wartet auf die Transkription.',
  'Concurrent uploads': 'Gleichzeitige Uploads',
  'In progress now.': 'Zurzeit im Gang.',
  '{used} <rest>used, no limit</rest>': '{used} <rest>verbraucht, kein Limit</rest>',
  '{used} <rest>of {limit}</rest>': '{used} <rest>von {limit}</rest>',
  '{hint} Resets on {day}.': '{hint} Beginnt am {day} neu.',
  Breakdown: 'Aufschlüsselung',
  'Break down': 'Aufschlüsseln',
  'By key': 'Nach Schlüssel',
  'By end user': 'Nach Endnutzer',
  'Usage by key': 'Nutzung nach Schlüssel',
  'Usage by end user': 'Nutzung nach Endnutzer',
  Key: 'Schlüssel',
  'Unknown key': 'Unbekannter Schlüssel',
  'No end user': 'Kein Endnutzer',
  '{name} (revoked)': '{name} (widerrufen)',
  'Nothing was uploaded in the last 30 days.': 'In den letzten 30 Tagen wurde nichts hochgeladen.',
  'These are the first 100. GET /v1/account/usage returns them all.':
    'Das sind die ersten 100. GET /v1/account/usage liefert alle.',

  // Errors
  'Rejected and failed requests of this account, grouped by kind. The most recent come first.':
    'Abgelehnte und fehlgeschlagene Anfragen dieses Kontos, nach Art gruppiert. Die neuesten stehen zuerst.',
  'Period (UTC)': 'Zeitraum (UTC)',
  '7 days': '7 Tage',
  'Loading errors…': 'Fehler werden geladen …',
  'No errors': 'Keine Fehler',
  'Requests that the service refuses appear here about a second later. Those without valid credentials belong to no account, and are not here.':
    'Anfragen, die der Dienst ablehnt, erscheinen hier nach etwa einer Sekunde. Solche ohne gültige Zugangsdaten gehören zu keinem Konto und stehen nicht hier.',
  '{count, plural, one {once} other {# times}}': '{count, plural, one {einmal} other {#-mal}}',
  Type: 'Art',
  '{type}, code {code}': '{type}, Code {code}',
  Field: 'Feld',
  'First seen': 'Zuerst',
  'Last seen': 'Zuletzt',
  'Request IDs': 'Anfrage-IDs',
  'Copy request ID {id}': 'Anfrage-ID {id} kopieren',
  'The credentials were missing, wrong, expired or revoked. If they are lost, create a new key.':
    'Die Zugangsdaten fehlten, waren falsch, abgelaufen oder widerrufen. Sind sie verloren, legen Sie einen neuen Schlüssel an.',
  'The key does not have the scope named in the message. Create one that has it on the Keys page.':
    'Dem Schlüssel fehlt die Berechtigung, die in der Meldung steht. Legen Sie auf der Seite „Schlüssel“ einen an, der sie hat.',
  'The account is suspended. Only the operator of the service can change that.':
    'Das Konto ist gesperrt. Das kann nur der Betreiber des Dienstes ändern.',
  'A quota is used up. The Usage page shows which one and when it resets. Deleting recordings frees storage.':
    'Ein Kontingent ist aufgebraucht. Die Seite „Nutzung“ zeigt, welches es ist und wann es neu beginnt. Wenn Sie Aufnahmen löschen, wird Speicher frei.',
  'The body or its Content-Type is not what the operation expects. Compare the request with the one in /docs.':
    'Der Inhalt oder sein Content-Type ist nicht, was die Operation erwartet. Vergleichen Sie die Anfrage mit der in /docs.',
  'The account has reached its limit of keys or webhooks. Delete some that are not used.':
    'Das Konto hat seine Höchstzahl an Schlüsseln oder Webhooks erreicht. Löschen Sie unbenutzte.',
  'The request conflicts with the current state. Fetch the resource and decide again. Use a new Idempotency-Key for different content.':
    'Die Anfrage passt nicht zum aktuellen Stand. Rufen Sie die Ressource ab und entscheiden Sie neu. Für anderen Inhalt verwenden Sie einen neuen Idempotency-Key.',
  'Someone else changed it first. Fetch it again, and repeat the change with the new ETag.':
    'Jemand anderes war schneller. Rufen Sie es erneut ab und wiederholen Sie die Änderung mit dem neuen ETag.',
  'The file or body is larger than the limit in the message. Compress the audio, or split it into parts.':
    'Datei oder Inhalt ist größer als das Limit in der Meldung. Komprimieren Sie das Audio, oder teilen Sie es auf.',
  'The requested range is outside the audio. Request its size first.':
    'Der angeforderte Bereich liegt außerhalb des Audios. Fragen Sie zuerst seine Größe ab.',
  'Requests came faster than the plan allows. Wait for Retry-After, send fewer requests at a time, and use webhooks or the event stream instead of polling.':
    'Die Anfragen kamen schneller, als der Tarif erlaubt. Warten Sie Retry-After ab, senden Sie weniger gleichzeitig, und nutzen Sie Webhooks oder den Ereignisstrom, statt immer wieder abzufragen.',
  'This is a bug in the service. Try again. If it keeps happening, give the operator a request ID from below.':
    'Das ist ein Fehler im Dienst. Versuchen Sie es erneut. Tritt er weiter auf, nennen Sie dem Betreiber eine Anfrage-ID von unten.',
  'The service was temporarily unavailable. Repeat the request after Retry-After; repeat uploads with the same Idempotency-Key.':
    'Der Dienst war vorübergehend nicht verfügbar. Wiederholen Sie die Anfrage nach Retry-After, Uploads mit demselben Idempotency-Key.',
  'The request breaks the rule named in the message. /docs lists the rules of each operation.':
    'Die Anfrage verletzt die Regel, die in der Meldung steht. /docs nennt die Regeln jeder Operation.',
  'Correct “{field}” as the message says. /docs lists the rules of each field.':
    'Korrigieren Sie „{field}“, wie die Meldung sagt. /docs nennt die Regeln jedes Felds.',
  'The transcript was requested too early. Wait for the event recording.transcribed instead of polling.':
    'Das Transkript wurde zu früh angefordert. Warten Sie auf das Ereignis recording.transcribed, statt immer wieder abzufragen.',
  'The recording could not be transcribed. Its page says why and lets you retry.':
    'Die Aufnahme konnte nicht transkribiert werden. Ihre Seite nennt den Grund; dort können Sie es wiederholen.',
  'There is no such path or method. The API is under /v1; /docs lists its operations.':
    'Diesen Pfad oder diese Methode gibt es nicht. Die API liegt unter /v1; /docs nennt ihre Operationen.',
  'Nothing in this account has this ID. It was deleted, or belongs to another account.':
    'In diesem Konto hat nichts diese ID. Es wurde gelöscht oder gehört zu einem anderen Konto.',
  'The message says what went wrong. The operator of the service can look up a request ID.':
    'Die Meldung sagt, was schiefging. Der Betreiber des Dienstes kann eine Anfrage-ID nachschlagen.',
} as const;
