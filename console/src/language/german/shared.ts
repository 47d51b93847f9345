export const SHARED = {
  'The text is not ready yet': 'Der Text ist noch nicht fertig',
  'There is no text': 'Es gibt keinen Text',
  'The voice note is being transcribed. Open the link again in a few minutes.':
    'Die Sprachnotiz wird transkribiert. Öffnen Sie den Link in einigen Minuten noch einmal.',
  'Nobody speaks in this voice note.': 'In dieser Sprachnotiz spricht niemand.',
  'The voice note could not be transcribed.': 'Die Sprachnotiz konnte nicht transkribiert werden.',
  'Opening the voice note…': 'Sprachnotiz wird geöffnet …',
  'This link shows nothing any more': 'Dieser Link zeigt nichts mehr',
  'It has ended, or it is incomplete. Ask the person who sent it to you for another one.':
    'Er ist abgelaufen oder unvollständig. Bitten Sie die Person, von der Sie ihn haben, um einen neuen.',
  'This voice note has a password': 'Diese Sprachnotiz hat ein Passwort',
  'This is not the password.': 'Das ist nicht das Passwort.',
} as const;
