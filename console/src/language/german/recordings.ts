export const RECORDINGS = {
  // The list
  Results: 'Treffer',
  Upload: 'Hochladen',
  'Drop audio files anywhere to upload them.': 'Ziehen Sie Audiodateien irgendwohin, um sie hochzuladen.',
  'Loading recordings…': 'Aufnahmen werden geladen …',
  '{total, plural, one {# recording} other {# recordings}}': '{total, plural, one {# Aufnahme} other {# Aufnahmen}}',
  '{total, number}+ recordings': 'Über {total, number} Aufnahmen',
  '{total, plural, one {# result} other {# results}}': '{total, plural, one {# Treffer} other {# Treffer}}',
  '{total, number}+ results': 'Über {total, number} Treffer',
  'No speech': 'Keine Sprache',
  'Show only end user {user}': 'Nur Endnutzer {user} zeigen',
  'Show only {key}: {value}': 'Nur {key}: {value} zeigen',
  'Next recording': 'Nächste Aufnahme',
  'Previous recording': 'Vorherige Aufnahme',
  'Open the recording': 'Aufnahme öffnen',
  'Select the recording': 'Aufnahme auswählen',

  // Its order
  Order: 'Reihenfolge',
  'Sort by': 'Sortieren',
  'Best match': 'Bester Treffer',
  'Newest first': 'Neueste zuerst',
  'Oldest first': 'Älteste zuerst',
  'Longest first': 'Längste zuerst',
  'Shortest first': 'Kürzeste zuerst',
  'Best match first': 'Bester Treffer zuerst',

  // Without any
  'Deleting recordings…': 'Aufnahmen werden gelöscht …',
  'The others are listed once these are gone.': 'Die übrigen erscheinen, sobald diese gelöscht sind.',
  'This page is empty': 'Diese Seite ist leer',
  'Its recordings were deleted, or do not match any more.':
    'Ihre Aufnahmen wurden gelöscht oder passen nicht mehr zur Suche.',
  'Go to the first page': 'Zur ersten Seite',
  'No matching recordings': 'Keine passenden Aufnahmen',
  'Try fewer words or remove a filter. Search covers transcribed recordings only.':
    'Versuchen Sie es mit weniger Wörtern oder ohne einen Filter. Gesucht wird nur in transkribierten Aufnahmen.',
  'Show all recordings': 'Alle Aufnahmen zeigen',
  'No recordings yet': 'Noch keine Aufnahmen',
  'Your first voice note': 'Ihre erste Sprachnotiz',
  'Record one here, or drop audio files anywhere on this page: WebM, MP3, Ogg, WAV, M4A, FLAC or AMR, up to 25 MB each.':
    'Nehmen Sie hier eine auf, oder ziehen Sie Audiodateien auf diese Seite: WebM, MP3, Ogg, WAV, M4A, FLAC oder AMR, je bis zu 25 MB.',
  'Record a note': 'Notiz aufnehmen',

  // Search and filters
  Search: 'Suche',
  'Search transcripts': 'Transkripte durchsuchen',
  Filter: 'Filter',
  'Active filters': 'Aktive Filter',
  'Remove filter {label}': 'Filter entfernen: {label}',
  'On {day}': 'Am {day}',
  'From {day}': 'Ab {day}',
  'To {day}': 'Bis {day}',
  'End user {user}': 'Endnutzer {user}',
  From: 'Von',
  To: 'Bis',
  'The end date is before the start date.': 'Das Ende liegt vor dem Anfang.',
  'Suggested days': 'Vorgeschlagene Tage',
  Yesterday: 'Gestern',
  'Last 7 days': 'Letzte 7 Tage',
  'The identity in the access token.': 'Die Identität im Zugriffstoken.',
  'One per line, such as ticket=T-1042. Recordings must have all of them.':
    'Eines je Zeile, zum Beispiel ticket=T-1042. Aufnahmen müssen alle haben.',
  'Clear all': 'Alle entfernen',
  Apply: 'Anwenden',

  // Tags
  'Suggested tags': 'Vorgeschlagene Schlagwörter',
  'Write a tag as key=value, not “{line}”.': 'Schreiben Sie ein Schlagwort als key=value, nicht „{line}“.',
  'One per line, such as ticket=T-1042. Other tags are kept.':
    'Eines je Zeile, zum Beispiel ticket=T-1042. Andere Schlagwörter bleiben.',
  'Remove tags': 'Schlagwörter entfernen',
  'Their keys, with spaces between them.': 'Ihre Namen (key), durch Leerzeichen getrennt.',
  'Write a tag to add.': 'Geben Sie ein Schlagwort ein.',
  '{key}: a key has up to 32 letters without accents, digits, _ or -, and a value up to 128 characters.':
    '{key}: Ein Name (key) hat bis zu 32 Buchstaben ohne Akzente und Umlaute, Ziffern, _ oder -, ein Wert bis zu 128 Zeichen.',

  // What is selected
  'Select {title}': '{title} auswählen',
  'Select all on this page': 'Alle auf dieser Seite auswählen',
  'Select all {total, number} recordings': 'Alle {total, number} Aufnahmen auswählen',
  'Select all {total, number}+ recordings': 'Alle (über {total, number}) Aufnahmen auswählen',
  'Select all {total, number} results': 'Alle {total, number} Treffer auswählen',
  'Select all {total, number}+ results': 'Alle (über {total, number}) Treffer auswählen',
  'Selecting…': 'Wird ausgewählt …',
  'All {count, number} on this page are selected.': 'Alle {count, number} auf dieser Seite sind ausgewählt.',
  '{count, number} selected, also on other pages.': '{count, number} ausgewählt, auch auf anderen Seiten.',
  '{count, number} selected': '{count, number} ausgewählt',
  '{count, number} <word>selected</word>': '{count, number} <word>ausgewählt</word>',
  'Clear selection': 'Auswahl aufheben',
  'Could not select all. {title}: {hint}': 'Es konnten nicht alle ausgewählt werden. {title}: {hint}',
  'This could not be loaded. You may be offline.': 'Das konnte nicht geladen werden. Vielleicht sind Sie offline.',
  'Retry {count, number} failed': '{count, number} fehlgeschlagene wiederholen',
  Tag: 'Schlagwörter ändern',
  'Tag {count, plural, one {# recording} other {# recordings}}':
    'Schlagwörter von {count, plural, one {# Aufnahme} other {# Aufnahmen}} ändern',
  'Export {count, plural, one {# recording} other {# recordings}}':
    '{count, plural, one {# Aufnahme} other {# Aufnahmen}} exportieren',
  'Transcribe {count, plural, one {# recording} other {# recordings}} again':
    '{count, plural, one {# Aufnahme} other {# Aufnahmen}} neu transkribieren',
  'Delete {count, plural, one {# recording} other {# recordings}}?':
    '{count, plural, one {# Aufnahme} other {# Aufnahmen}} löschen?',
  'Delete {count, plural, one {# recording} other {# recordings}}':
    '{count, plural, one {# Aufnahme} other {# Aufnahmen}} löschen',
  'They are deleted with their audio and transcripts, also those on other pages. You can undo this for a few seconds.':
    'Sie werden mit Audio und Transkript gelöscht, auch die auf anderen Seiten. Einige Sekunden lang können Sie das rückgängig machen.',
  'The transcript as one file.': 'Das Transkript als eine Datei.',
  'One file for each transcript, in a ZIP archive.': 'Eine Datei je Transkript, in einem ZIP-Archiv.',
  'Without a transcript, and left out: {left, number}.': 'Ohne Transkript und nicht dabei: {left, number}.',
  Text: 'Text',
  'Text in paragraphs': 'Text in Absätzen',
  'Present transcripts stay until the new ones are ready. Corrections are kept and stay on display.':
    'Bisherige Transkripte bleiben, bis die neuen fertig sind. Korrekturen bleiben erhalten und werden weiter angezeigt.',

  // What is done with many
  'Deleting {done, number} of {total, number}': '{done, number} von {total, number} gelöscht',
  'Exporting {done, number} of {total, number}': '{done, number} von {total, number} exportiert',
  'Selecting {done, number} of {total, number}': '{done, number} von {total, number} ausgewählt',
  'Tagging {done, number} of {total, number}': 'Schlagwörter: {done, number} von {total, number} geändert',
  'Transcribing {done, number} of {total, number}': '{done, number} von {total, number} zur Transkription gegeben',
  Stop: 'Anhalten',
  'Stop deleting': 'Löschen anhalten',
  'Stop exporting': 'Export anhalten',
  'Stop selecting': 'Auswahl anhalten',
  'Stop tagging': 'Ändern der Schlagwörter anhalten',
  'Stop transcribing': 'Transkription anhalten',
  'Deleting “{title}”.': '„{title}“ wird gelöscht.',
  'Deleting {count, number} recordings.': '{count, number} Aufnahmen werden gelöscht.',
  'Stopped: {done, number} of {all, number} recordings deleted.':
    'Angehalten: {done, number} von {all, number} Aufnahmen gelöscht.',
  'Could not delete “{title}”.': '„{title}“ konnte nicht gelöscht werden.',
  'Could not delete {count, number} recordings.': '{count, number} Aufnahmen konnten nicht gelöscht werden.',
  'Could not delete {failed, number} of {all, number} recordings.':
    '{failed, number} von {all, number} Aufnahmen konnten nicht gelöscht werden.',
  '{all, plural, =1 {Changed the tags of the recording.} other {Changed the tags of # recordings.}}':
    '{all, plural, =1 {Die Schlagwörter der Aufnahme sind geändert.} other {Die Schlagwörter von # Aufnahmen sind geändert.}}',
  'Stopped: {done, number} of {all, number} recordings tagged.':
    'Angehalten: Schlagwörter von {done, number} von {all, number} Aufnahmen geändert.',
  '{all, plural, =1 {The recording could not be tagged.} other {{failed, number} of {all, number} recordings could not be tagged.}}':
    '{all, plural, =1 {Die Schlagwörter der Aufnahme konnten nicht geändert werden.} other {Die Schlagwörter von {failed, number} von {all, number} Aufnahmen konnten nicht geändert werden.}}',
  '{files, plural, =1 {Exported the recording.} other {Exported # recordings.}}':
    '{files, plural, =1 {Die Aufnahme ist exportiert.} other {# Aufnahmen sind exportiert.}}',
  'Stopped: {done, number} of {all, number} recordings exported.':
    'Angehalten: {done, number} von {all, number} Aufnahmen exportiert.',
  '{all, plural, =1 {The recording could not be exported.} other {{failed, number} of {all, number} recordings could not be exported.}}':
    '{all, plural, =1 {Die Aufnahme konnte nicht exportiert werden.} other {{failed, number} von {all, number} Aufnahmen konnten nicht exportiert werden.}}',
  '{all, plural, =1 {Transcribing the recording again.} other {Transcribing # recordings again.}}':
    '{all, plural, =1 {Die Aufnahme wird neu transkribiert.} other {# Aufnahmen werden neu transkribiert.}}',
  'Stopped: {done, number} of {all, number} recordings queued.':
    'Angehalten: {done, number} von {all, number} Aufnahmen werden neu transkribiert.',
  '{all, plural, =1 {The recording could not be queued.} other {{failed, number} of {all, number} recordings could not be queued.}}':
    '{all, plural, =1 {Die Aufnahme kann nicht neu transkribiert werden.} other {{failed, number} von {all, number} Aufnahmen können nicht neu transkribiert werden.}}',
} as const;
