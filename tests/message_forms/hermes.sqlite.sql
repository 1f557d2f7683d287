BEGIN TRANSACTION;
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT);
INSERT INTO "messages" VALUES(1,'h-1','user','Which clocks are slow?',NULL,NULL,NULL,1772359201.0,NULL,NULL,NULL);
INSERT INTO "messages" VALUES(2,'h-1','assistant','',NULL,'[{"id": "call-1", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"clocks.txt\"}"}}]',NULL,1772359202.0,NULL,'tool_calls','Look at the list.');
INSERT INTO "messages" VALUES(3,'h-1','tool','hall: slow','call-1',NULL,'read',1772359203.0,NULL,NULL,NULL);
INSERT INTO "messages" VALUES(4,'h-1','assistant','The clock in the hall.',NULL,NULL,NULL,1772359204.0,NULL,'stop',NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, title TEXT);
INSERT INTO "sessions" VALUES('h-1','cli',NULL,'model-1',NULL,'You mind clocks.',NULL,1772359200.0,NULL,NULL);
COMMIT;
