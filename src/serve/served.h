/* A model of the server with its queue: closed, being opened, open, or being closed. models.c decides which there are. */
#ifndef TR_SERVE_SERVED_H
#define TR_SERVE_SERVED_H

#include "serve/models.h"

/* All models, also those that serve only until their texts are done. */
typedef struct served_list {
    server *server;
    served *first;
    uint64_t generation; /* of the newest content of a file */
} served_list;

/* What changes when the file, or one in the directory, is replaced; 0: there is none. */
uint64_t served_stamp(const char *path);

/* A closed model, added to the list; NULL: out of memory. reverse: the path of the model that ranks its translations; NULL:
 * none. */
served *served_add(served_list *list, const char *path, const char *reverse, uint64_t stamp);
const char *served_path(const served *s);
const char *served_reverse(const served *s);
/* Whether it is the model of this file as it is now. */
bool served_is(const served *s, const char *path, uint64_t stamp);
/* Holds it: it stays open and in the list. */
void served_hold(served *s);
void served_release(served *s);
/* Removes it from the list as soon as nobody uses it. */
void served_retire(served *s);
/* At the end, when all submissions are cancelled: their last events are handed over. */
void served_end_all(served_list *list);
/* Frees all of a list, after served_end_all. */
void served_free_all(served_list *list);

/* A number for the content that the model has, or was last seen with. */
uint64_t served_generation(const served *s);
bool served_is_open(const served *s);
/* Texts in the queues of all whose events have not been taken. */
size_t served_waiting(const served_list *list);
/* Of the fullest of these queues. */
size_t served_fullest(const served_list *list);
/* As tr_queue_fill, of all that are open. */
void served_fill(const served_list *list, size_t *sentences, size_t *places);

#endif
