import { IsInt, IsOptional, Min } from 'class-validator';
import { InvalidRequestError } from '../../errors/errors.js';
import { PageQuery } from '../page.js';
import { AsInteger, IsText } from './rules.js';
import { RequestValidationPipe } from './request-validation.pipe.js';

class BodyDto {
  @IsText(1, 10)
  name: string;

  @IsOptional()
  @IsInt({ message: '$property must be an integer' })
  @Min(60, { message: '$property must be an integer' })
  expires_in: number = 3600;
}

class ListQuery extends PageQuery {
  @IsOptional()
  @AsInteger()
  @IsInt({ message: 'a message that does not begin with the name' })
  size?: number;
}

const pipe = new RequestValidationPipe();
const body = (value: unknown) => pipe.transform(value, { type: 'body', metatype: BodyDto });
const query = (value: unknown) => pipe.transform(value, { type: 'query', metatype: ListQuery });

async function refusal(outcome: Promise<unknown>): Promise<InvalidRequestError> {
  const error = await outcome.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidRequestError);
  return error as InvalidRequestError;
}

describe('ValidationPipe', () => {
  it('makes an instance of the DTO, with its defaults', async () => {
    const dto = await body({ name: 'x' });
    expect(dto).toBeInstanceOf(BodyDto);
    expect(dto).toEqual({ name: 'x', expires_in: 3600 });
  });

  it('turns the numbers of a query into numbers, also inherited ones (D16)', async () => {
    expect(await query({ page: '3', size: '7' })).toEqual({ page: 3, limit: 50, size: 7 });
  });

  it('names the field and the rule that it breaks (2001)', async () => {
    const { details, status, code } = await refusal(body({ name: '' }));
    const reason = 'must be text of 1 to 10 characters; this has 0';
    expect({ status, code }).toEqual({ status: 400, code: 2001 });
    expect(details).toEqual({ field: 'name', reason, errors: [{ field: 'name', reason }] });
  });

  it('lists all errors, unknown fields first, each field once', async () => {
    const { details } = await refusal(body({ expires_in: 'x', nmae: 'y' }));
    expect(details).toMatchObject({ field: 'nmae', reason: 'is not a field of this operation' });
    expect((details.errors as { field: string }[]).map(({ field }) => field)).toEqual(['nmae', 'name', 'expires_in']);
  });

  it('refuses a misspelt parameter, so that a filter is never silently left out (D16)', async () => {
    const { details } = await refusal(query({ pgae: '1' }));
    expect(details).toMatchObject({ field: 'pgae', reason: 'is not a parameter of this operation' });
  });

  it('refuses a repeated parameter (D16)', async () => {
    const { details } = await refusal(query({ page: ['1', '2'] }));
    expect(details).toMatchObject({ field: 'page', reason: 'may be given only once' });
  });

  it('keeps a message that does not begin with the name', async () => {
    const { details } = await refusal(query({ size: 'x' }));
    expect(details).toMatchObject({ field: 'size', reason: 'a message that does not begin with the name' });
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'takes %s for a field that does not exist, and changes no prototype',
    async (name) => {
      const { details } = await refusal(body(JSON.parse(`{"name":"x","${name}":{"polluted":true}}`)));
      expect(details).toMatchObject({ field: name });
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    },
  );

  it('leaves alone what is neither a body nor a query', async () => {
    expect(await pipe.transform('an id', { type: 'param', metatype: String })).toBe('an id');
    expect(await pipe.transform('whatever', { type: 'custom', metatype: BodyDto })).toBe('whatever');
  });
});
