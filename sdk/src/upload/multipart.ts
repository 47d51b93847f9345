/** A form with fields and one file, whose bytes are read while it is sent. */
export class Multipart {
  readonly contentType: string;
  private readonly head: Uint8Array;
  private readonly tail: Uint8Array;

  constructor(fields: Record<string, string>, filename: string, boundary: string) {
    const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
    const text = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`);
    const file = `${part(`name="file"; filename="${escaped(filename)}"`)}Content-Type: application/octet-stream\r\n\r\n`;
    const encoder = new TextEncoder();
    this.contentType = `multipart/form-data; boundary=${boundary}`;
    this.head = encoder.encode(text.join('') + file);
    this.tail = encoder.encode(`\r\n--${boundary}--\r\n`);
  }

  /** Bytes of the whole form. */
  lengthWith(fileBytes: number): number {
    return this.head.length + fileBytes + this.tail.length;
  }

  async *around(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    yield this.head;
    yield* file;
    yield this.tail;
  }
}

/** As browsers do (https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data). */
function escaped(filename: string): string {
  return filename.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22');
}
