#include "formats/import.h"

const tr_import *tr_import_part(void)
{
    return NULL;
}
