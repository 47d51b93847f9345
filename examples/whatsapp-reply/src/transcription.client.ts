const TIMEOUT_MS = 60_000;

/** The transcription service. */
export class TranscriptionClient {
  private readonly headers: Record<string, string>;

  /** @param apiKey with the scopes recordings:write and recordings:read */
  constructor(
    private readonly url: string,
    apiKey: { key: string; secret: string },
  ) {
    this.headers = { Authorization: `Bearer ${apiKey.key}.${apiKey.secret}` };
  }

  /**
   * Uploads a voice note.
   * @param key makes the upload safe to repeat, and comes back as the tag `note` of its event
   * @returns false when it was uploaded before
   */
  async upload(audio: Blob, key: string): Promise<boolean> {
    const body = new FormData();
    body.set('file', audio, 'voice-note.ogg');
    body.set('custom_tags', JSON.stringify({ note: key }));
    const headers = { 'Idempotency-Key': key };
    const response = await this.request('/v1/recordings', { method: 'POST', headers, body });
    return response.headers.get('Idempotent-Replayed') !== 'true';
  }

  async textOf(recordingId: string): Promise<string> {
    const response = await this.request(`/v1/recordings/${recordingId}/transcription`);
    return ((await response.json()) as { text: string }).text;
  }

  private async request(path: string, options: RequestInit = {}): Promise<Response> {
    const headers = { ...options.headers, ...this.headers };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${this.url}${path}`, { ...options, headers, signal });
    if (!response.ok)
      throw new Error(`the transcription service answered ${response.status}: ${await response.text()}`);
    return response;
  }
}
