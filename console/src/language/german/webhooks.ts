export const WEBHOOKS = {
  'Webhooks send your server a signed request when a recording is done.':
    'Webhooks senden Ihrem Server eine signierte Anfrage, sobald eine Aufnahme fertig ist.',
  'New webhook': 'Neuer Webhook',
  'Loading webhooks…': 'Webhooks werden geladen …',
  'No webhooks yet': 'Noch keine Webhooks',
  'Add the URL of your server, then send a test request to see whether it arrives.':
    'Tragen Sie die URL Ihres Servers ein und senden Sie eine Testanfrage, um zu sehen, ob sie ankommt.',
  '{events} · created {age}': '{events} · angelegt {age}',
  Webhook: 'Webhook',
  'Loading the webhook…': 'Webhook wird geladen …',
  URL: 'URL',
  Disabled: 'Ausgeschaltet',
  'This webhook is disabled and receives no events. Enable it, then use “Resend” for the events that it missed.':
    'Dieser Webhook ist ausgeschaltet und erhält keine Ereignisse. Schalten Sie ihn ein und holen Sie Verpasstes mit „Erneut senden“ nach.',

  // Create, change and delete
  'Use https. Redirects are not followed.': 'Verwenden Sie https. Weiterleitungen wird nicht gefolgt.',
  'Choose at least one event.': 'Wählen Sie mindestens ein Ereignis.',
  'The transcript of a recording is ready.': 'Das Transkript einer Aufnahme ist fertig.',
  'A recording could not be transcribed.': 'Eine Aufnahme konnte nicht transkribiert werden.',
  'A transcript was corrected, or its original restored.':
    'Ein Transkript wurde korrigiert oder auf das Original zurückgesetzt.',
  'A part of a long transcript is ready. Holds its text.':
    'Ein Teil eines langen Transkripts ist fertig. Das Ereignis enthält seinen Text.',
  'Use your own secret': 'Eigenes Secret verwenden',
  '16 to 256 printable characters. Leave empty to generate one, which is safer.':
    '16 bis 256 druckbare Zeichen. Leer: Es wird eines erzeugt, das ist sicherer.',
  'Create webhook': 'Webhook anlegen',
  'Webhook created': 'Webhook angelegt',
  'Every request is signed with this secret. Your server needs it to verify the signature.':
    'Jede Anfrage wird mit diesem Secret signiert. Ihr Server braucht es, um die Signatur zu prüfen.',
  'Edit webhook': 'Webhook bearbeiten',
  'Webhook saved.': 'Webhook gespeichert.',
  Disable: 'Ausschalten',
  Enable: 'Einschalten',
  'Webhook enabled.': 'Webhook eingeschaltet.',
  'Webhook disabled.': 'Webhook ausgeschaltet.',
  'Delete this webhook?': 'Diesen Webhook löschen?',
  'Pending deliveries and the delivery log are deleted. Recordings and events are kept. To pause deliveries, disable the webhook instead.':
    'Ausstehende Zustellungen und das Zustellprotokoll werden gelöscht, Aufnahmen und Ereignisse bleiben. Um nur zu pausieren, schalten Sie den Webhook aus.',
  'Delete webhook': 'Webhook löschen',
  'Webhook deleted.': 'Webhook gelöscht.',

  // Secret
  Secret: 'Secret',
  'Change secret': 'Secret ändern',
  'Requests are signed with the new secret at once. The previous secret can stay valid for a while, so that your server can switch without rejecting requests.':
    'Anfragen werden sofort mit dem neuen Secret signiert. Das bisherige kann noch eine Weile gelten, damit Ihr Server ohne abgelehnte Anfragen umstellen kann.',
  'Keep the previous secret valid for': 'Das bisherige Secret gilt noch',
  '24 hours': '24 Stunden',
  '12 hours': '12 Stunden',
  '6 hours': '6 Stunden',
  '1 hour': '1 Stunde',
  'Do not keep it: the secret has leaked': 'Gar nicht: Es ist in fremde Hände geraten',
  'New secret (optional)': 'Neues Secret (optional)',
  '16 to 256 printable characters. Leave empty to generate one of 32 random bytes.':
    '16 bis 256 druckbare Zeichen. Leer: Es wird eines aus 32 zufälligen Bytes erzeugt.',
  'Changing…': 'Wird geändert …',
  'Secret changed': 'Secret geändert',
  'New secret': 'Neues Secret',
  'The previous secret is no longer used. Update your server now.':
    'Das bisherige Secret wird nicht mehr verwendet. Stellen Sie Ihren Server jetzt um.',
  'Update your server within {hours, plural, one {# hour} other {# hours}}. Until then webhook-signature has both signatures. X-Service-Signature uses the new secret already.':
    'Stellen Sie Ihren Server innerhalb von {hours, plural, one {# Stunde} other {# Stunden}} um. Bis dahin enthält webhook-signature beide Signaturen. X-Service-Signature verwendet schon das neue Secret.',

  // Test
  'Send test': 'Test senden',
  'Test request': 'Testanfrage',
  'Close the result': 'Ergebnis schließen',
  'Sending a test request. Your server has 15 seconds to respond.':
    'Eine Testanfrage wird gesendet. Ihr Server hat 15 Sekunden für die Antwort.',

  // Deliveries
  Deliveries: 'Zustellungen',
  'Refresh the deliveries': 'Zustellungen aktualisieren',
  'Filter deliveries': 'Zustellungen filtern',
  'From (UTC)': 'Von (UTC)',
  'To (UTC)': 'Bis (UTC)',
  Delivered: 'Zugestellt',
  Pending: 'Ausstehend',
  'Loading deliveries…': 'Zustellungen werden geladen …',
  'No deliveries yet': 'Noch keine Zustellungen',
  'Deliveries appear here when a recording is done. Test requests are not logged: their result is shown above.':
    'Zustellungen erscheinen hier, sobald eine Aufnahme fertig ist. Testanfragen stehen nicht im Protokoll: Ihr Ergebnis erscheint oben.',
  'No matching deliveries': 'Keine passenden Zustellungen',
  'Try another status or other days.': 'Versuchen Sie es mit einem anderen Status oder anderen Tagen.',
  'not sent yet': 'noch nicht gesendet',
  '{outcome} · {count, plural, one {# attempt} other {# attempts}}':
    '{outcome} · {count, plural, one {# Versuch} other {# Versuche}}',
  '{count, plural, one {# attempt} other {# attempts}}': '{count, plural, one {# Versuch} other {# Versuche}}',
  'attempt {number} · {date} · {ms, number} ms': 'Versuch {number} · {date} · {ms, number} ms',
  '{date} · {ms, number} ms': '{date} · {ms, number} ms',
  'The response had no body.': 'Die Antwort war leer.',
  'Response (first 1 KiB):': 'Antwort (erstes KiB):',
  'Response to attempt {attempt}': 'Antwort auf Versuch {attempt}',
  'Loading the delivery…': 'Zustellung wird geladen …',
  'Event ID': 'Ereignis-ID',
  'Copy event ID': 'Ereignis-ID kopieren',
  'Next attempt': 'Nächster Versuch',
  'No attempt has finished yet.': 'Noch ist kein Versuch abgeschlossen.',
  Body: 'Inhalt',
  'Copy body': 'Inhalt kopieren',

  // Send again
  'Enable the webhook first.': 'Schalten Sie zuerst den Webhook ein.',
  'Sending the event now.': 'Das Ereignis wird jetzt gesendet.',
  'Resending the event.': 'Das Ereignis wird erneut gesendet.',
  Resend: 'Erneut senden',
  'Resend…': 'Erneut senden …',
  'Resend events': 'Ereignisse erneut senden',
  'Everything that was not delivered': 'Alles, was nicht zugestellt wurde',
  'Failed deliveries': 'Fehlgeschlagene Zustellungen',
  'Events missed while disabled': 'Während der Pause verpasste Ereignisse',
  'Successful deliveries': 'Erfolgreiche Zustellungen',
  'The webhook is disabled. Enable it first.': 'Der Webhook ist ausgeschaltet. Schalten Sie ihn zuerst ein.',
  'Starting…': 'Wird gestartet …',
  'Missed events are counted when they are resent.': 'Verpasste Ereignisse werden beim erneuten Senden gezählt.',
  'Counting…': 'Wird gezählt …',
  '{count, number} delivered in this period.': '{count, number} in diesem Zeitraum zugestellt.',
  '{count, number} failed in this period.': '{count, number} in diesem Zeitraum fehlgeschlagen.',
  '{count, number} failed in this period, plus any events missed while the webhook was disabled.':
    '{count, number} in diesem Zeitraum fehlgeschlagen, dazu die Ereignisse, die der ausgeschaltete Webhook verpasst hat.',
  'There was nothing to resend in this period.': 'In diesem Zeitraum gab es nichts erneut zu senden.',
  '{count, plural, one {# event is} other {# events are}} being resent. They appear in the log as they are sent.':
    '{count, plural, one {# Ereignis wird} other {# Ereignisse werden}} erneut gesendet. Im Protokoll erscheinen sie nach und nach.',

  // What went wrong, and what to do
  'No response': 'Keine Antwort',
  'The host name has no public address, or its name servers did not respond. Check the host in the URL.':
    'Der Hostname hat keine öffentliche Adresse, oder seine Nameserver haben nicht geantwortet. Prüfen Sie den Host in der URL.',
  'Nothing accepted the connection. Check the port and the firewall, and that the receiver is running.':
    'Niemand hat die Verbindung angenommen. Prüfen Sie Port und Firewall und ob der Empfänger läuft.',
  'The certificate is expired, self-signed or for another host, or an intermediate certificate is missing. Check the chain that the receiver sends.':
    'Das Zertifikat ist abgelaufen, selbst signiert oder für einen anderen Host, oder ein Zwischenzertifikat fehlt. Prüfen Sie die Kette, die der Empfänger sendet.',
  'There was no connection within 5 seconds, or no response within 15. Respond first and do slow work afterwards. A firewall may be dropping packets.':
    'Innerhalb von 5 Sekunden kam keine Verbindung zustande oder innerhalb von 15 keine Antwort. Antworten Sie zuerst und erledigen Sie langsame Arbeit danach. Vielleicht verwirft eine Firewall Pakete.',
  'The connection was closed before the response was complete, or the response is not HTTP. Check the log of the receiver or its proxy.':
    'Die Verbindung wurde vor dem Ende der Antwort geschlossen, oder die Antwort ist kein HTTP. Sehen Sie im Protokoll des Empfängers oder seines Proxys nach.',
  'The service no longer sends to this URL, such as an http URL or a private address. Change it, or ask the operator.':
    'Der Dienst sendet nicht mehr an diese URL, etwa weil sie http verwendet oder eine private Adresse hat. Ändern Sie sie, oder fragen Sie den Betreiber.',
  'The secret cannot be read, so nothing was sent. Set a new secret.':
    'Das Secret ist nicht lesbar, deshalb wurde nichts gesendet. Setzen Sie ein neues.',
  'The webhook was disabled while this delivery was pending. Enable the webhook, then resend it.':
    'Der Webhook wurde ausgeschaltet, während diese Zustellung ausstand. Schalten Sie ihn ein und senden Sie sie erneut.',
  'The receiver rejected the request. It must verify the signature over the raw body, with the current secret.':
    'Der Empfänger hat die Anfrage abgelehnt. Er muss die Signatur über den unveränderten Inhalt prüfen, mit dem aktuellen Secret.',
  'Nothing at this path accepts a POST request. Check the URL.':
    'Unter diesem Pfad nimmt niemand POST-Anfragen an. Prüfen Sie die URL.',
  'The receiver says that this URL is gone, so the webhook was disabled.':
    'Laut Empfänger gibt es diese URL nicht mehr. Deshalb wurde der Webhook ausgeschaltet.',
  'Redirects are not followed. Set the URL that the redirect leads to.':
    'Weiterleitungen wird nicht gefolgt. Tragen Sie die URL ein, zu der die Weiterleitung führt.',
  'The receiver failed. Check its log. Its response is below.':
    'Beim Empfänger trat ein Fehler auf. Sehen Sie in seinem Protokoll nach. Seine Antwort steht unten.',
  'Only responses from 200 to 299 count as delivered.': 'Nur Antworten von 200 bis 299 gelten als zugestellt.',

  // Code for receivers
  'Verify deliveries': 'Zustellungen prüfen',
  'Copy for {language}': 'Für {language} kopieren',
  'Verifier for {language}': 'Prüfcode für {language}',
  'Verify the signature over the raw body, before parsing it. Either of the two functions is enough. The second one also rejects requests that are more than five minutes old. Respond with a 2xx status within 15 seconds. The same event can arrive more than once: store the <code>X-Service-Event-Id</code> of each event that you have handled.':
    'Prüfen Sie die Signatur über den unveränderten Inhalt, bevor Sie ihn parsen. Eine der beiden Funktionen genügt; die zweite lehnt auch Anfragen ab, die älter als fünf Minuten sind. Antworten Sie innerhalb von 15 Sekunden mit einem 2xx-Status. Dasselbe Ereignis kann mehrmals ankommen: Speichern Sie die <code>X-Service-Event-Id</code> jedes Ereignisses, das Sie verarbeitet haben.',
} as const;
