//! The codecs of values, with their names in `semconv/`.

use crate::operation::named;

named! {
    /// How a value is encoded.
    Codec {
        /// Text; other scalars as text.
        Text = "text",
        /// An integer, or decimal text.
        Int = "int",
        /// A number, or decimal text.
        Float = "float",
        /// A truth value, or `true` / `false` as text.
        Bool = "bool",
        /// A list of texts: native, JSON text, or one bare word.
        Texts = "texts",
        /// A list or map, native or as JSON text; other text stays text.
        Json = "json",
        /// As `json`, but an empty object or list is none: clients write it where they leave a value out.
        FilledJson = "filled_json",
        /// As `json`, but only an object.
        JsonObject = "json_object",
        /// JSON text in which every value is quoted, once or twice.
        JsonText = "json_text",
        /// Flattened indexed keys below a prefix, made into a list or map.
        Flat = "flat",
        /// The same of answers: each is a choice of its own where each has its reason to stop (OpenLLMetry).
        FlatChoices = "flat_choices",
        /// Keys below a prefix, made into a map.
        Map = "map",
        /// Keys below a prefix whose values are JSON text.
        MapOfJson = "map_of_json",
        /// Keys below a prefix whose values are all JSON text: `5` is a number, text is quoted.
        MapOfJsonText = "map_of_json_text",
        /// What Python prints of a value: a dict, a list, or the call of a class.
        Python = "python",
        /// A list of JSON texts.
        ListOfJson = "list_of_json",
        /// The members of one message, a key each: text, tool calls, reasoning, object (Vercel AI SDK).
        MessageMembers = "message_members",
        /// The members of one answer, a key each: its text or a list of its texts, its tool calls (Sentry).
        ResponseMembers = "response_members",
        /// Messages in one text, each behind its role and a colon at the begin of a line (OpenLIT).
        RoleLines = "role_lines",
        /// One message an event; the role is in the event's name.
        MessageEvent = "message_event",
        /// What was cut out of a span and its events into a log record's body, without the roles that stayed on the span (ADOT).
        SplitOff = "split_off",
        /// Messages whose calls and results are in their texts as `[tool: name]` and `[tool-result: name]` (Mastra).
        ToolMarks = "tool_marks",
        /// A title line, then texts in brackets (Spring AI's log bodies).
        BracketedTexts = "bracketed_texts",
        /// One text with all messages.
        PlainText = "plain_text",
        /// Text before the first slash.
        BeforeSlash = "before_slash",
        /// A decimal number and a currency.
        Money = "money",
        /// Comma-separated text.
        CommaSeparated = "comma_separated",
        /// ISO 8601 text or the event's own time.
        Time = "time",
        /// As `json`, and any JSON text if the sibling key `<..>.mime_type` is `application/json`.
        ByMime = "by_mime",
        /// As `json`, but never a JSON Schema: several clients write arguments under the schema's key.
        NotSchema = "not_schema",
        /// The last word of a text.
        LastWord = "last_word",
        /// The name of a span that records one event of an operation, `tool.lookup.start-2`, without the event; as the name of a
        /// tool without its number, too.
        EventSpan = "event_span",
        /// The class in the dotted name of a method: `Travel` in `com.acme.Travel.answer`.
        ClassOfMethod = "class_of_method",
        /// A list of old GenAI events as JSON text: inputs, or the choices; without one, the assistant's last message.
        EventList = "event_list",
        /// The number of flattened entries below a prefix.
        Count = "count",
        /// A name in any case: `ToolCall`, `TOOL-CALL`, `SpanKind.TOOL_CALL` and `tool.call` are `tool_call`.
        SnakeCase = "snake_case",
        /// What Python prints of arguments behind the word `input: ` (Monocle of CrewAI's tools).
        PrintedInput = "printed_input",
        /// JSON text behind a mark of its type, `@ag.type=json:` (Agenta), or a line that says what it is, `[TOOL INPUT: search]`
        /// (Qwen Code); other text stays text.
        MarkedJson = "marked_json",
        /// Words, and behind `Tool calls:` a list of calls as Python prints it (NeMo Agent Toolkit).
        WordsThenCalls = "words_then_calls",
        /// Text, unless it is a placeholder for an unknown value: `unknown`, `None`.
        KnownText = "known_text",
        /// A model's id with the provider before it and the interface behind it: `openai/gpt-4o:completions` is `gpt-4o`.
        ModelOfId = "model_of_id",
        /// A span's name without the words around the tool's: `execute_tool search`, `tool: search`, `search.tool`.
        NameOfTool = "name_of_tool",
    }
}
