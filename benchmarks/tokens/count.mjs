// Reads a JSON list of texts, and writes a JSON list of how many o200k_base tokens each is.
import { text } from "node:stream/consumers";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

// The name of a special token inside a text is text.
const plain = { disallowedSpecial: new Set() };
const texts = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(texts.map((one) => countTokens(one, plain))));
