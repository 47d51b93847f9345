/** Of recording, and of what is on its way to the service. */
export const RECORD = {
  'Record a note, or upload audio files of up to 25 MB.':
    'Nehmen Sie eine Notiz auf, oder laden Sie Audiodateien bis 25 MB hoch.',

  // The recorder
  Recorder: 'Rekorder',
  'Record, pause or resume': 'Aufnehmen, anhalten oder fortsetzen',
  Paused: 'Angehalten',
  Resume: 'Fortsetzen',
  'Finish and send': 'Beenden und senden',
  'Press Record and start speaking.': 'Drücken Sie auf Aufnehmen und sprechen Sie.',
  'Waiting for the microphone. Your browser may ask for permission.':
    'Warten auf das Mikrofon. Vielleicht fragt Ihr Browser um Erlaubnis.',
  'No sound detected. Is the microphone muted?': 'Kein Ton zu hören. Ist das Mikrofon stumm?',
  'Recording. The audio is sent while you speak.': 'Aufnahme läuft. Der Ton wird gesendet, während Sie sprechen.',
  'Recording. The audio is kept in this browser until it is sent.':
    'Aufnahme läuft. Sie bleibt in diesem Browser, bis sie gesendet ist.',
  Microphone: 'Mikrofon',
  'Microphone level': 'Mikrofonpegel',
  'System default': 'Standard des Systems',
  'Live words': 'Live mitlesen',
  'Words so far': 'Text bisher',
  'The audio is sent while you speak, and its words appear here.':
    'Der Ton wird gesendet, während Sie sprechen, und der Text erscheint hier.',
  'Words appear here while you speak.': 'Hier erscheint der Text, während Sie sprechen.',
  'No live words.': 'Kein Text während der Aufnahme.',
  'The recording goes on.': 'Die Aufnahme läuft weiter.',
  'Discard this recording?': 'Diese Aufnahme verwerfen?',
  'This deletes {time} of audio and cannot be undone.':
    'Damit werden {time} Audio gelöscht. Das lässt sich nicht rückgängig machen.',
  'Fix the tag, then send the recording.': 'Korrigieren Sie das Schlagwort und senden Sie dann die Aufnahme.',
  'The recording has reached the limit of 25 MB. It is being sent.':
    'Die Aufnahme hat die Grenze von 25 MB erreicht. Sie wird gesendet.',
  'The recording has reached the limit of two hours. It is being sent.':
    'Die Aufnahme hat die Grenze von zwei Stunden erreicht. Sie wird gesendet.',
  'Nothing was recorded: the microphone sent no sound.': 'Es wurde nichts aufgenommen: Vom Mikrofon kam kein Ton.',
  'The recording is sent. Its title and tags could not be saved: change them on its page.':
    'Die Aufnahme ist gesendet. Titel und Schlagwörter konnten nicht gespeichert werden: Ändern Sie sie auf ihrer Seite.',
  'The service still has the recording that was made live. Delete it in the list.':
    'Der Dienst hat noch, was während der Aufnahme gesendet wurde. Löschen Sie es in der Liste.',

  // What keeps it from recording
  'This page cannot use the microphone': 'Diese Seite kann das Mikrofon nicht benutzen',
  'Browsers allow recording only over HTTPS or on localhost. You can still upload files.':
    'Browser erlauben Aufnahmen nur über HTTPS oder auf localhost. Dateien können Sie trotzdem hochladen.',
  'This browser cannot record': 'Dieser Browser kann nicht aufnehmen',
  'Use a current version of Chrome, Edge, Firefox or Safari. You can still upload files.':
    'Benutzen Sie eine aktuelle Version von Chrome, Edge, Firefox oder Safari. Dateien können Sie trotzdem hochladen.',
  'The microphone is blocked for this page': 'Das Mikrofon ist für diese Seite gesperrt',
  'Allow it in the site settings, next to the address, then record again.':
    'Erlauben Sie es in den Website-Einstellungen neben der Adresse, und nehmen Sie dann erneut auf.',
  'No microphone found': 'Kein Mikrofon gefunden',
  'Connect one, or turn it on in your system settings, then record again.':
    'Schließen Sie eines an, oder schalten Sie es in den Systemeinstellungen ein, und nehmen Sie dann erneut auf.',
  'The microphone is not available': 'Das Mikrofon ist nicht verfügbar',
  'Another program may be using it. Close it, or choose another microphone.':
    'Vielleicht benutzt es ein anderes Programm. Beenden Sie es, oder wählen Sie ein anderes Mikrofon.',
  'The microphone was disconnected': 'Das Mikrofon wurde getrennt',
  'The audio recorded so far is saved below.': 'Was bis dahin aufgenommen wurde, ist unten gesichert.',
  'The recording could not start': 'Die Aufnahme konnte nicht beginnen',
  'Try again, or choose another microphone.': 'Versuchen Sie es erneut, oder wählen Sie ein anderes Mikrofon.',
  'Browser storage is full.': 'Der Speicher des Browsers ist voll.',
  'New audio is kept in this tab only: finish and send it before you close the tab.':
    'Was jetzt dazukommt, ist nur in diesem Tab: Beenden und senden Sie die Aufnahme, bevor Sie ihn schließen.',

  // Details of a note
  'Shown in the list of recordings.': 'Erscheint in der Liste der Aufnahmen.',
  'Spoken language': 'Gesprochene Sprache',
  'Second language': 'Zweite Sprache',
  'If you change between two.': 'Falls Sie zwischen zwei Sprachen wechseln.',
  'Account setting': 'Wie im Konto eingestellt',
  'Labels to filter by, such as a project or a customer number.':
    'Zum Filtern, zum Beispiel ein Projekt oder eine Kundennummer.',
  'Add a tag': 'Neues Schlagwort',
  'Name of tag {number}': 'Name von Schlagwort {number}',
  'Value of tag {number}': 'Wert von Schlagwort {number}',
  'Remove tag {number}': 'Schlagwort {number} entfernen',
  project: 'projekt',
  atlas: 'atlas',
  'Use 1 to 32 letters, digits, hyphens or underscores for the name.':
    'Der Name hat 1 bis 32 Buchstaben ohne Umlaute, Ziffern, Binde- oder Unterstriche.',
  '“{key}” is used twice.': '„{key}“ kommt zweimal vor.',
  'A value can have at most {most} characters.': 'Ein Wert hat höchstens {most} Zeichen.',
  'A value cannot contain control characters.': 'Ein Wert darf keine Steuerzeichen enthalten.',
  'Tags can have at most {most, number} bytes in total.':
    'Alle Schlagwörter zusammen haben höchstens {most, number} Byte.',

  // What was not sent
  'Not sent yet': 'Noch nicht gesendet',
  'A recording of {time} from {moment} was not sent.': 'Eine Aufnahme von {time} ({moment}) wurde nicht gesendet.',
  'today {time}': 'heute {time}',
  'Play: {title}': 'Abspielen: {title}',
  'Play {title}': '{title} abspielen',

  // Uploads
  Uploads: 'Uploads',
  'All uploads': 'Alle Uploads',
  'Uploads: {summary}': 'Uploads: {summary}',
  'Upload of {title}': 'Upload von {title}',
  'recording…': 'Aufnahme läuft …',
  '{sent} sent': '{sent} gesendet',
  '{sent} of {all} sent': '{sent} von {all} gesendet',
  '{stuck, plural, one {# needs} other {# need}} attention':
    '{stuck, plural, one {# braucht} other {# brauchen}} Ihre Entscheidung',
  'Drop audio files to upload them': 'Audiodateien hier ablegen, um sie hochzuladen',
  'Folders cannot be uploaded. Drop the files instead.':
    'Ordner lassen sich nicht hochladen. Legen Sie stattdessen die Dateien ab.',
  'Recording…': 'Aufnahme läuft …',
  'Not sent: the page was closed while recording.': 'Nicht gesendet: Die Seite wurde während der Aufnahme geschlossen.',
  Queued: 'In der Warteschlange',
  'Another tab is sending this': 'Ein anderer Tab sendet dies',
  'Offline. Resumes automatically.': 'Offline. Geht von selbst weiter.',
  'Cannot reach the service.': 'Der Dienst ist nicht erreichbar.',
  'Too many requests.': 'Zu viele Anfragen.',
  'Close to the rate limit.': 'Nahe am Anfragelimit.',
  'The service is not available.': 'Der Dienst ist nicht verfügbar.',
  'Trying again in {seconds} s.': 'Neuer Versuch in {seconds} s.',
  'Trying again now.': 'Neuer Versuch jetzt.',
  'Resumes in {seconds} s.': 'Geht in {seconds} s weiter.',
  'Resumes now.': 'Geht jetzt weiter.',
  Refused: 'Abgelehnt',
  Sent: 'Gesendet',
  '{percent}% sent': '{percent} % gesendet',
  'Try now': 'Jetzt versuchen',
  'Send as new': 'Als neue senden',
  'Send again': 'Erneut senden',
  'Discard {title}?': '{title} verwerfen?',
  'This is the only copy. Discard it?': 'Das ist die einzige Kopie. Verwerfen?',
  'Browser storage is full. Keep this tab open until it is sent, or free up space.':
    'Der Speicher des Browsers ist voll. Lassen Sie diesen Tab offen, bis alles gesendet ist, oder schaffen Sie Platz.',

  // Why something was not taken
  'This file is larger than the limit of 25 MB.': 'Diese Datei ist größer als 25 MB.',
  'Shorten it, or convert it to MP3 or Opus.': 'Kürzen Sie sie, oder wandeln Sie sie in MP3 oder Opus um.',
  'This file is empty.': 'Diese Datei ist leer.',
  'Discard it and choose another file.': 'Verwerfen Sie sie und wählen Sie eine andere.',
  'This file can no longer be read.': 'Diese Datei lässt sich nicht mehr lesen.',
  'It may have been moved or changed. Discard it and choose the file again.':
    'Vielleicht wurde sie verschoben oder geändert. Verwerfen Sie sie und wählen Sie die Datei neu.',
  'An earlier attempt got no response, so this may have been uploaded already.':
    'Ein früherer Versuch blieb ohne Antwort. Vielleicht ist dies schon hochgeladen.',
  'Check the list of recordings. Send it again only if it is missing.':
    'Sehen Sie in der Liste der Aufnahmen nach. Senden Sie nur erneut, was dort fehlt.',
  'It is kept here. Try again when there is space.': 'Es bleibt hier. Versuchen Sie es erneut, wenn Platz ist.',
  'The account is suspended.': 'Das Konto ist gesperrt.',
  'This was sent before, and the recording has been deleted.':
    'Dies wurde schon einmal gesendet, und die Aufnahme wurde gelöscht.',
  'Send it as a new recording, or discard it.': 'Senden Sie es als neue Aufnahme, oder verwerfen Sie es.',
  'It is kept here: try again, or download it.': 'Es bleibt hier: Versuchen Sie es erneut, oder laden Sie es herunter.',
  'It is kept here: try again, download it or discard it.':
    'Es bleibt hier: Versuchen Sie es erneut, laden Sie es herunter, oder verwerfen Sie es.',
  'It is kept here. Sign in with another key, then try again.':
    'Es bleibt hier. Melden Sie sich mit einem anderen Schlüssel an und versuchen Sie es dann erneut.',
  'It is kept here: download it or discard it.': 'Es bleibt hier: Laden Sie es herunter, oder verwerfen Sie es.',
  'Choose another file.': 'Wählen Sie eine andere Datei.',
  'This looks like {kind}, which cannot be transcribed.':
    'Das sieht nach {kind} aus und lässt sich nicht transkribieren.',
  'This is not an audio file.': 'Das ist keine Audiodatei.',
  'Choose audio in {formats}.': 'Wählen Sie Audio in {formats}.',
} as const;
