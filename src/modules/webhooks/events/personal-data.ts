/** As much of a body as all kinds of the core share. */
interface Body {
  recording?: { identity?: unknown; custom_tags?: unknown } | null;
}

/** The end user that the recording in a body names. Null for one of an extension that has another form. */
export function endUserOf(body: string): string | null {
  // Most recordings have no end user, and need not be parsed.
  if (!body.includes('"identity":"')) return null;
  const identity = parsed(body)?.recording?.identity;
  return typeof identity === 'string' ? identity : null;
}

/** The body without the end user and the tags of its recording (D46). The order of the other keys stays. */
export function withoutPersonalData(body: string): string {
  const event = parsed(body);
  if (!event?.recording) return body;
  event.recording.identity = null;
  delete event.recording.custom_tags;
  return JSON.stringify(event);
}

function parsed(body: string): Body | null {
  try {
    return JSON.parse(body) as Body | null;
  } catch {
    return null;
  }
}
