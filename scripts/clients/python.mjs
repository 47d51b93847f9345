import { firstLine, snake } from './model.mjs';

/** A module of the standard library alone, for Python 3.8 and later: answers are dictionaries with types. */
export function pythonClient({ types, operations }) {
  const text = [HEAD, ...types.map(typeText), CLIENT, ...operations.map(methodText)].join('\n');
  return { 'voice_notes.py': `${text}\n` };
}

const HEAD = `"""Client of the Voice Note Transcription Service, generated from openapi.json."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, Literal, Mapping, Optional, TypedDict, Union, cast

if TYPE_CHECKING:  # Not in typing before Python 3.11.
    from typing import NotRequired

`;

const CLIENT = `
class ApiError(Exception):
    """An answer that is no success. \`body\` is the JSON of the answer, where it has one."""

    def __init__(self, status: int, body: Any) -> None:
        error = body.get("error", {}) if isinstance(body, dict) else {}
        super().__init__(f"{status} {error.get('type', '')}: {error.get('message', '')}")
        self.status = status
        self.body = body


class Client:
    def __init__(self, base_url: str, key: str, secret: str, timeout: float = 60) -> None:
        self._base = base_url.rstrip("/")
        self._credentials = {"X-Service-API-Key": key, "X-Service-API-Secret": secret}
        self._timeout = timeout

    def _open(self, method: str, path: str, query: Mapping[str, Any], headers: Mapping[str, Any],
              data: Optional[bytes] = None, content_type: Optional[str] = None) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        url = self._base + path + ("?" + urllib.parse.urlencode(given, doseq=True) if given else "")
        request = urllib.request.Request(url, data=data, method=method, headers=dict(self._credentials))
        for name, value in headers.items():
            if value is not None:
                request.add_header(name, str(value))
        if content_type is not None:
            request.add_header("Content-Type", content_type)
        try:
            return urllib.request.urlopen(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            body = error.read()
            try:
                raise ApiError(error.code, json.loads(body)) from None
            except ValueError:
                raise ApiError(error.code, None) from None

    def _call(self, *arguments: Any, **more: Any) -> Any:
        with self._open(*arguments, **more) as response:
            body = response.read()
        return json.loads(body) if body else None


def _json(body: Any) -> Dict[str, Any]:
    return {"data": json.dumps(body).encode(), "content_type": "application/json"}


def _form(fields: Mapping[str, Any], filename: str) -> Dict[str, Any]:
    boundary = uuid.uuid4().hex
    parts: List[bytes] = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            quoted = filename.replace("\\\\", "\\\\\\\\").replace('"', '\\\\"')
            of_file = f'; filename="{quoted}"\\r\\nContent-Type: application/octet-stream' if isinstance(one, bytes) else ""
            parts.append(f'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"{of_file}\\r\\n\\r\\n'.encode())
            parts.append((one if isinstance(one, bytes) else str(one).encode()) + b"\\r\\n")
    parts.append(f"--{boundary}--\\r\\n".encode())
    return {"data": b"".join(parts), "content_type": f"multipart/form-data; boundary={boundary}"}


def _path(value: str) -> str:
    return urllib.parse.quote(value, safe="")


class VoiceNotes(Client):`;

function typeText(type) {
  if (type.members)
    return `${type.name} = Union[${[...type.members.values()].map((name) => `"${name}"`).join(', ')}]\n`;
  if (type.alias) return `${type.name} = ${typeOf(type.alias)}\n`;
  const fields = type.fields.map(({ name, type: inner, isRequired, description }) => {
    const declared = isRequired ? typeOf(inner) : `NotRequired[${typeOf(inner)}]`;
    return `    ${name}: ${declared}${description ? `\n    ${docText(description)}` : ''}`;
  });
  if (type.fields.some(({ name }) => KEYWORDS.has(name))) return functionalText(type);
  const doc = type.description ? [`    ${docText(type.description)}`] : [];
  return `\nclass ${type.name}(TypedDict):\n${[...doc, ...fields].join('\n') || '    pass'}\n`;
}

/** For fields whose names are words of the language. */
function functionalText({ name, fields }) {
  const text = fields.map((field) => {
    const declared = field.isRequired ? typeOf(field.type) : `NotRequired[${typeOf(field.type)}]`;
    return `${JSON.stringify(field.name)}: ${JSON.stringify(declared.replaceAll('"', "'"))}`;
  });
  return `\n${name} = TypedDict("${name}", {${text.join(', ')}})\n`;
}

const KEYWORDS = new Set(['from', 'class', 'import', 'global', 'in', 'is', 'not', 'pass', 'async', 'await', 'with']);

const argumentName = (field) => (KEYWORDS.has(snake(field)) ? `${snake(field)}_` : snake(field));

const docText = (text) => `"""${firstLine(text).replaceAll('\\', '\\\\').replaceAll('"', "'")}"""`;

const PLAIN = { string: 'str', integer: 'int', number: 'float', boolean: 'bool', bytes: 'bytes', any: 'Any' };

function typeOf(type) {
  const { kind, values, isNull, of, name } = type;
  const inner =
    kind === 'ref'
      ? name
      : kind === 'list'
        ? `List[${typeOf(of)}]`
        : kind === 'map'
          ? `Dict[str, ${typeOf(of)}]`
          : values
            ? `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`
            : PLAIN[kind];
  return isNull ? `Optional[${inner}]` : inner;
}

function methodText({ name, method, path, summary, pathFields, query, headers, form, body, answer }) {
  const argument = ({ name: field }) => argumentName(field);
  const named = [...(form ?? []), ...query, ...headers].filter(({ type }) => type.kind !== 'bytes');
  const needed = [...(form ?? []), ...query, ...headers].filter(({ type }) => type.kind === 'bytes');
  const parameters = [
    'self',
    ...pathFields.map((field) => `${argument(field)}: str`),
    ...needed.map((field) => `${argument(field)}: bytes`),
    ...(form ? ['filename: str'] : []),
    ...(body ? [`body: ${typeOf(body)}`] : []),
    ...(named.length > 0 ? ['*'] : []),
    ...named.map((field) =>
      field.isRequired
        ? `${argument(field)}: ${typeOf(field.type)}`
        : `${argument(field)}: ${field.type.isNull ? typeOf(field.type) : `Optional[${typeOf(field.type)}]`} = None`,
    ),
  ];
  const dictionary = (fields) =>
    `{${fields.map((field) => `${JSON.stringify(field.name)}: ${argument(field)}`).join(', ')}}`;
  const url = path.replaceAll(/\{(\w+)\}/g, (_, field) => `{_path(${argumentName(field)})}`);
  const data = body ? ', **_json(body)' : form ? `, **_form(${dictionary(form)}, filename)` : '';
  const call = `("${method}", ${pathFields.length > 0 ? 'f' : ''}"${url}", ${dictionary(query)}, ${dictionary(headers)}${data})`;
  const [returned, statement] =
    answer === 'bytes'
      ? ['BinaryIO', `return cast(BinaryIO, self._open${call})`]
      : answer === 'none'
        ? ['None', `self._call${call}`]
        : [typeOf(answer), `return cast(${JSON.stringify(typeOf(answer).replaceAll('"', "'"))}, self._call${call})`];
  return `\n    def ${snake(name)}(${parameters.join(', ')}) -> ${returned}:\n        ${docText(summary)}\n        ${statement}`;
}
