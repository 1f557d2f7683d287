BEGIN TRANSACTION;
CREATE TABLE chat (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, chat TEXT, created_at INTEGER, updated_at INTEGER);
INSERT INTO "chat" VALUES('c-1','u-1','Slow clocks','{"models": ["model-1"], "history": {"currentId": "m-2", "messages": {"m-1": {"id": "m-1", "parentId": null, "childrenIds": ["m-2"], "role": "user", "content": "Which clocks are slow?", "timestamp": 1772359200}, "m-2": {"id": "m-2", "parentId": "m-1", "childrenIds": [], "role": "assistant", "content": "The clock in the hall.", "model": "model-1", "timestamp": 1772359201, "done": true}}}, "messages": []}',1772359200,1772359201);
COMMIT;
