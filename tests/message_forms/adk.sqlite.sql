BEGIN TRANSACTION;
CREATE TABLE events(id text,app_name text,user_id text,session_id text,invocation_id text,author text,branch text,timestamp datetime,content text,actions blob,long_running_tool_ids_json text,grounding_metadata text,partial boolean,turn_complete boolean,error_code text,error_message text,interrupted boolean);
INSERT INTO "events" VALUES('e0','ferries','u1','s1','i1','user',NULL,'2026-03-01 10:00:00.000000','{"role": "user", "parts": [{"text": "Is the ferry running?"}]}',X'78',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES('e1','ferries','u1','s1','i1','harbour',NULL,'2026-03-01 10:00:01.000000','{"role": "model", "parts": [{"function_call": {"id": "f1", "name": "timetable", "args": {"island": "Rhodes"}}}]}',X'78',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES('e2','ferries','u1','s1','i1','harbour',NULL,'2026-03-01 10:00:02.000000','{"role": "user", "parts": [{"function_response": {"id": "f1", "name": "timetable", "response": {"at": "09:00"}}}]}',X'78',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "events" VALUES('e3','ferries','u1','s1','i1','harbour',NULL,'2026-03-01 10:00:03.000000','{"role": "model", "parts": [{"text": "Yes, at nine."}]}',X'78',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sessions(app_name text,user_id text,id text,state text,create_time datetime,update_time datetime);
INSERT INTO "sessions" VALUES('ferries','u1','s1','{}','2026-03-01 10:00:00.000000','2026-03-01 10:00:09.000000');
COMMIT;
